"""Pages of the documentation as they stand in the code; a test compares them.

python -m neuralgram.cli.reference            docs/commands.md: every command's --help
python -m neuralgram.cli.reference settings   docs/settings.md: every setting of whatever can be told something
"""

from __future__ import annotations

import sys

import click

from neuralgram.cli import neuralgram
from neuralgram.cli.options import holds
from neuralgram.families import ESTIMATORS, EXPORTS, HEADS, TOKENIZERS, members
from neuralgram.neural.config import NPLMConfig
from neuralgram.settings import Described, described, shown
from neuralgram.training.config import MixSettings, NgramSettings, TextSettings, TrainConfig

_WIDTH = 100
_HEAD = ("| setting | what it may be | not given in Python | nor to the command | |", "|---|---|---|---|---|")
_OWNERS: dict[str, type] = {
    "A network: `NPLM`, `train nplm`": NPLMConfig,
    "Training: `TrainConfig`, `train nplm`": TrainConfig,
    "Texts: `train nplm`, `train ngram`": TextSettings,
    "Counting: `train ngram`": NgramSettings,
    "Mixtures: `mix`": MixSettings,
}
_FAMILIES = {
    "The output layer {}: `--head-option NAME=VALUE`": HEADS,
    "The estimator {}: `train ngram`": ESTIMATORS,
    "The tokenizer {}: `train nplm`, `train ngram`": TOKENIZERS,
    "The file {}: `export --to`": EXPORTS,
}


def reference() -> str:
    """The page of commands, in Markdown."""
    page = ["# Commands", "", "Written by `python -m neuralgram.cli.reference`; a test compares it with the code.", ""]
    how = {**neuralgram.context_settings, "terminal_width": _WIDTH}  # as when it runs: -h is help too
    with click.Context(neuralgram, info_name="neuralgram", **how) as ctx:
        for command, inner in _walk(neuralgram, ctx):
            page += [f"## {inner.command_path}", "", "```", command.get_help(inner), "```", ""]
    return "\n".join(page)


def settings() -> str:
    """The page of settings, in Markdown: a table for each owner, a row for each setting."""
    page = ["# Settings", ""]
    page += ["Written by `python -m neuralgram.cli.reference settings`; a test compares it with the code.", ""]
    page += ["What a command chooses where nothing is given is in *italics*; `train` prints it with its reason."]
    owners = dict(_OWNERS)
    for title, family in _FAMILIES.items():
        owners |= {title.format(name): owner.Settings for name, owner in members(family, "member").items()}
    for title, owner in owners.items():
        rows = [_row(one) for one in described(owner)]
        page += ["", f"## {title}", "", *([*_HEAD, *rows] if rows else ["No settings."])]
    return "\n".join([*page, ""])


def _row(one: Described) -> str:
    default = "needed" if one.required else shown(one.default)
    chosen = f"*{one.about.auto}*" if one.about.auto else default
    return f"| `{one.name}` | {holds(one)} | {default} | {chosen} | {one.about.help} |"


def _walk(command: click.Command, ctx: click.Context) -> list[tuple[click.Command, click.Context]]:
    found = [(command, ctx)]
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            if inner is not None:
                found += _walk(inner, click.Context(inner, ctx, info_name=name, terminal_width=_WIDTH))
    return found


if __name__ == "__main__":
    print(settings() if sys.argv[1:] == ["settings"] else reference(), end="")
