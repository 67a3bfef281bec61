"""`neuralgram score` and `neuralgram filter`: units of text with their perplexity, and the likely ones."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neuralgram.cli.common import emit, json_option, say
from neuralgram.cli.options import reading_options
from neuralgram.numbers import figure, spaced

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


@click.command("score")
@unit_options
@click.option("--per-token", is_flag=True, help="The nats of each token as well.")
@json_option
def score(as_json: bool, **given: Any) -> None:
    """Score each unit of FILE… (text, JSON lines, Parquet; .gz, .zst; - for standard input) with MODEL, a model
    directory or an ARPA or KenLM file.

    The same units come out in their order with tokens, unknown, nats, perplexity and bits_per_byte added: as fields of
    a JSON object or columns of Parquet, before a line of text as columns parted by tabs. All else stays byte for byte
    as it was. A run that was stopped goes on when the same command is given again.
    """
    from neuralgram.scoring.commands import Task

    ticker = Ticker()
    task = Task(judge_of(given), reading_of(given), tell=ticker, say=say, stream=sys.stdout.buffer)
    found = task.score()
    sys.stdout.buffer.flush()
    ticker.end()
    if as_json and given["out"] is not None:
        emit(found)
        return
    say_what_to_know(found, say)
    if found.get("tokens"):
        unknown = found["unknown"] / found["tokens"]
        say(
            f"{spaced(found['units'])} units, {spaced(found['tokens'])} tokens ({unknown:.2%} unknown), "
            f"perplexity {figure(found['perplexity'], 5)} over all of them"
        )


@click.command("filter")
@unit_options
@click.option("--rejects", type=_PATH, help="Where dropped units go, with their scores' reason.")
@click.option("--max-perplexity", type=float, help="Keep units of at most this perplexity.")
@click.option("--min-perplexity", type=float, help="Keep units of at least this perplexity.")
@click.option("--keep", metavar="LOW:HIGH", help="Keep this share of the units by value: 0.1:0.6, :0.5.")
@click.option(
    "--sample", type=int, help="Find the quantiles from so many units drawn evenly, not from all in two passes."
)
@click.option("--cutoffs", type=_PATH, help="A JSON file of head's and middle's cut-offs by language, as CCNet cuts.")
@click.option("--language", help="The language whose cut-offs are used.")
@click.option("--learn-cutoffs", is_flag=True, help="Make the language's cut-offs from these units first (30%, 60%).")
@click.option("--bucket", default="head,middle", show_default=True, help="With --cutoffs: the buckets that are kept.")
@click.option("--reference", metavar="MODEL", help="A second model: values are (nats − its nats) / tokens.")
@click.option("--max-difference", type=float, help="With --reference: keep units of at most this difference.")
@click.option("--min-difference", type=float, help="With --reference: keep units of at least this difference.")
@click.option("--add", is_flag=True, help="Add the scores to kept units; without it they stay as they were.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of --sample.")
@click.option("--plot", type=_PATH, help="Draw the histogram of perplexities into this PNG file.")
@json_option
def filtering(as_json: bool, **given: Any) -> None:
    """Keep those units of FILE… that MODEL finds likely: by perplexity, by quantiles, by CCNet's buckets, or by the
    difference to a second model (Moore & Lewis 2010).

    Kept units come out in their order, byte for byte as they were; dropped ones go to --rejects with the reason. A run
    that was stopped goes on when the same command is given again.
    """
    from neuralgram.scoring.commands import Task

    plot = given["plot"]
    if plot is not None and plot.suffix.lower() != ".png":
        raise click.UsageError(f"--plot {plot}: expected a name that ends in .png")
    ticker = Ticker()
    task = Task(judge_of(given), reading_of(given), tell=ticker, say=say, stream=sys.stdout.buffer)
    found = task.filter(_how(given))
    sys.stdout.buffer.flush()
    ticker.end()
    if plot is not None:
        from neuralgram.evaluation.plots import histogram

        histogram(found["histogram"], found["rule"], plot)
    if as_json and given["out"] is not None:
        emit(found)
        return
    say_what_to_know(found, say)
    _report(found)


def _how(given: dict[str, Any]) -> Any:
    from neuralgram.errors import InputError
    from neuralgram.scoring.commands import Filtering

    kind = "difference" if given["reference"] else "perplexity"
    other = "perplexity" if given["reference"] else "difference"
    for end in ("max", "min"):
        if given[f"{end}_{other}"] is not None:
            why = "with --reference values are differences" if given["reference"] else "a difference needs --reference"
            raise InputError(f"--{end}-{other}: {why}; expected --{end}-{kind}")
    return Filtering(
        low=given[f"min_{kind}"],
        high=given[f"max_{kind}"],
        keep=given["keep"],
        sample=given["sample"],
        cutoffs=given["cutoffs"],
        language=given["language"],
        learn=given["learn_cutoffs"],
        buckets=tuple(name.strip() for name in given["bucket"].split(",") if name.strip()),
        add=given["add"],
        seed=given["seed"],
    )


def _report(found: dict[str, Any]) -> None:
    kept, dropped = found.get("kept", 0), found.get("dropped", 0)
    say(f"kept {spaced(kept)} of {spaced(kept + dropped)} units ({kept / max(1, kept + dropped):.1%})")
    most = max((row["units"] for row in found["histogram"]), default=0)
    if most and found["rule"].get("of") != "difference":
        say("perplexity from")
        for row in found["histogram"]:
            say(f"{row['from']:>12.4g}  {spaced(row['units']):>10}  {'█' * round(40 * row['units'] / most)}")
