"""`neuralgram filter MODEL [FILE…]`: the units of text that a model finds likely enough."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, json_option, say
from neuralgram.cli.unit_options import Ticker, judge_of, reading_of, say_what_to_know, unit_options
from neuralgram.numbers import spaced

_PATH = click.Path(path_type=Path)


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
def command(as_json: bool, **given: Any) -> None:
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
