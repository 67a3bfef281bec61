"""`neuralgram score MODEL [FILE…]`: every unit of text with its perplexity."""

from __future__ import annotations

import sys
from typing import Any

import click

from neuralgram.cli.common import emit, json_option, say
from neuralgram.cli.unit_options import Ticker, judge_of, reading_of, say_what_to_know, unit_options
from neuralgram.numbers import figure, spaced


@click.command("score")
@unit_options
@click.option("--per-token", is_flag=True, help="The nats of each token as well.")
@json_option
def command(as_json: bool, **given: Any) -> None:
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
