"""docs/commands.md is what the code says; an option nobody documented fails here."""

import pytest

from neuralgram.cli.reference import reference, settings
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("name", "written", "argument"), [("commands", reference, ""), ("settings", settings, " settings")]
)
def test_the_page_is_up_to_date(name, written, argument):
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert page == written(), f"run: python -m neuralgram.cli.reference{argument} > docs/{name}.md"


def test_every_option_says_what_it_does():
    import click

    from neuralgram.cli import neuralgram
    from neuralgram.cli.reference import _walk

    with click.Context(neuralgram, info_name="neuralgram") as ctx:
        silent = [
            f"{inner.command_path} {parameter.name}"
            for command, inner in _walk(neuralgram, ctx)
            for parameter in command.params
            if isinstance(parameter, click.Option) and not parameter.help
        ]
    assert silent == []
