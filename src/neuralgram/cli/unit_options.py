"""Options of the commands that read units of text, and the line that tells how far they are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neuralgram.cli.options import reading_options

if TYPE_CHECKING:
    from neuralgram.scoring.commands import Reading
    from neuralgram.scoring.judging import Judge
    from neuralgram.scoring.pipeline import Progress

Command = TypeVar("Command", bound=Callable[..., Any])
_PATH = click.Path(path_type=Path)
_EVERY = 10.0  # seconds between lines where there is no terminal

_OPTIONS = [
    click.argument("model", metavar="MODEL"),
    click.argument("files", metavar="[FILE]...", nargs=-1),
    click.option(
        "--unit",
        type=click.Choice(["line", "document", "json"]),
        help="What is scored: each line, each file, the field of each JSON line. [by the file's name]",
    ),
    click.option("--out", type=_PATH, help="Where the units go; .gz and .zst are compressed. [standard output]"),
    click.option("--broken", type=_PATH, help="Where units go that cannot be read. [OUT.broken]"),
    click.option("--strict", is_flag=True, help="Stop at the first unit that cannot be read."),
    click.option("--overwrite", is_flag=True, help="Replace what --out holds."),
    click.option("--jobs", type=int, help="Processes that score. [one a core]"),
    click.option(
        "--prefix", default="", help="Before the name of each field that is added. [unnormalized_ where they are]"
    ),
    click.option("--no-end", is_flag=True, help="Do not score the end of each unit."),
    click.option(
        "--unnormalized",
        is_flag=True,
        help="Scores without the sum over the vocabulary: several times as fast, for networks trained so (nce).",
    ),
]


def unit_options(command: Command) -> Command:
    """The options above and how files are read."""
    command = reading_options(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def judge_of(given: dict[str, Any]) -> Judge:
    """What scores the units, by the options."""
    from neuralgram.scoring.judging import Judge

    return Judge(
        given["model"],
        reference=given.get("reference"),
        unnormalized=given["unnormalized"],
        end=not given["no_end"],
        per_token=given.get("per_token", False),
        prefix=given["prefix"] or ("unnormalized_" if given["unnormalized"] else ""),
    )


def reading_of(given: dict[str, Any]) -> Reading:
    """Which units are read and where they go, by the options."""
    from neuralgram.scoring.commands import Reading

    names = ("unit", "field", "encoding", "errors", "out", "rejects", "broken", "jobs", "overwrite", "strict")
    return Reading(given["files"], **{name: given[name] for name in names if name in given})


class Ticker:
    """Progress on standard error: one line that is written over, or a line every ten seconds where nobody watches."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty()
        self._told = time.monotonic()
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        """Tell of progress."""
        from neuralgram.numbers import spaced

        left = "" if progress.left is None else f"  {_clock(progress.left)} left"
        line = f"{spaced(progress.units)} units  {spaced(progress.rate)} units/s{left}"
        if self._watched:
            print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(line)
        elif time.monotonic() - self._told >= _EVERY:
            print(line, file=sys.stderr, flush=True)
            self._told = time.monotonic()

    def end(self) -> None:
        """Leave the line."""
        if self._watched and self._width:
            print(file=sys.stderr)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return (
        f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}" if whole >= 3600 else f"{whole // 60}:{whole % 60:02}"
    )


def say_what_to_know(found: dict[str, Any], say: Callable[[str], None]) -> None:
    """How far scores without the sum are off; how many units were broken, and the first of them by name."""
    if "log_z" in found:
        z = found["log_z"]
        say(
            f"scores leave out the sum over the vocabulary: log Z is {z['mean']:+.4f} ± {z['sd']:.4f} nats on "
            f"{z['tokens']} of the tokens, so much is each off"
        )
    if not found["broken"]:
        return
    first = found["broken_units"][0]
    where = f"{first['file']}, unit {first['unit']}: {first['reason']}"
    say(f"{found['broken']} units cannot be read and are kept aside; the first: {where}")
