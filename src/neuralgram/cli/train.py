"""`neuralgram train`: `nplm` trains a network, `ngram` counts."""

from __future__ import annotations

from importlib import import_module

import click

KINDS = {
    "nplm": "The neural probabilistic language model (Bengio et al., 2003).",
    "ngram": "A counting model: add-k, Kneser–Ney and others.",
}


class Kinds(click.Group):
    """The kinds of model that can be trained; one is imported only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of `KINDS`."""
        return list(KINDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in KINDS:
            return None
        command: click.Command = import_module(f"neuralgram.cli.train_{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in `--help`, written without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(KINDS.items()))


@click.command("train", cls=Kinds)
def command() -> None:
    """Train a model on TEXT… (files, folders, - for standard input) into a model directory."""
