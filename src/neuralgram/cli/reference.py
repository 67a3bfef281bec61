"""`python -m neuralgram.cli.reference` prints docs/commands.md: every command's --help, as it stands in the code."""

from __future__ import annotations

import click

from neuralgram.cli import neuralgram

_WIDTH = 100


def reference() -> str:
    """The page, in Markdown."""
    page = ["# Commands", "", "Written by `python -m neuralgram.cli.reference`; a test compares it with the code.", ""]
    settings = {**neuralgram.context_settings, "terminal_width": _WIDTH}  # as when it runs: -h is help too
    with click.Context(neuralgram, info_name="neuralgram", **settings) as ctx:
        for command, inner in _walk(neuralgram, ctx):
            page += [f"## {inner.command_path}", "", "```", command.get_help(inner), "```", ""]
    return "\n".join(page)


def _walk(command: click.Command, ctx: click.Context) -> list[tuple[click.Command, click.Context]]:
    found = [(command, ctx)]
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            if inner is not None:
                found += _walk(inner, click.Context(inner, ctx, info_name=name, terminal_width=_WIDTH))
    return found


if __name__ == "__main__":
    print(reference(), end="")
