"""`neuralgram train nplm` and `neuralgram train ngram`: a network is trained, n-grams are counted."""

from __future__ import annotations

import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, held_out_lines, json_option, say
from neuralgram.cli.options import family_options, reading_options, setting_options, stacked
from neuralgram.families import ESTIMATORS, HEADS, TOKENIZERS
from neuralgram.neural.config import NPLMConfig
from neuralgram.numbers import figure, spaced
from neuralgram.training.config import NgramSettings, ReadSettings, TextSettings, TrainConfig

corpus_options = stacked(
    [
        click.argument("texts", metavar="TEXT...", nargs=-1, required=True),
        click.option("--out", type=click.Path(path_type=Path), required=True, help="The model directory to write."),
        click.option("--overwrite", is_flag=True, help="Replace what --out holds."),
        click.option("--valid", multiple=True, help="A validation text of its own (instead of --split)."),
        click.option("--test", multiple=True, help="A test text of its own (instead of --split)."),
        setting_options(TextSettings, without=[field.name for field in fields(ReadSettings)]),
        family_options(TOKENIZERS),
        reading_options,
    ]
)


@click.group("train")
def command() -> None:
    """Train a model on TEXT… (files, folders, - for standard input) into a model directory."""


@command.command("nplm")
@corpus_options
@click.option("--resume", is_flag=True, help="Go on with the run that stopped in --out, exactly where it was.")
@click.option("--count/--no-count", default=True, help="Count an n-gram model beside, to compare with. [count]")
@setting_options(NPLMConfig, TrainConfig, planned=True, without=["vocab", "seed"], families={"head_options": HEADS})
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to train. [auto]")
@json_option
def train_nplm(as_json: bool, **given: Any) -> None:
    """Train the neural probabilistic language model on TEXT… into --out.

    Settings that are not given are chosen from the text, printed with their reasons, and stored. The run ends with
    the weights that were best on the validation part. Ctrl-C saves; `--resume` goes on.
    """
    from neuralgram.training.jobs.network import train_texts
    from neuralgram.training.jobs.ngram import counted_words
    from neuralgram.training.progress import Display

    given["command"] = shlex.join(["neuralgram", *sys.argv[1:]])
    with Display() as show:
        trained = train_texts(given, on_event=show, say=say)
    record = trained.to_json()
    if as_json:
        emit(record)
        return
    _report(record, given["out"])
    if trained.counted is not None:
        print(f"{'counted':<19} {counted_words(trained.counted)}")
    if trained.advice is not None:
        print(trained.advice)


def _report(record: dict[str, Any], out: Path) -> None:
    log_v = record["log_v"]
    print(f"first loss          {record['first_loss']:.4f} nats (log V = {log_v:.4f})")
    for line in held_out_lines(record):
        print(line)
    print(f"model               {out}")
    print(f"learning curve      {record['learning_curve']}")


@command.command("ngram")
@corpus_options
@setting_options(NgramSettings)
@family_options(ESTIMATORS)
@json_option
def train_ngram(as_json: bool, **given: Any) -> None:
    """Count TEXT… into a smoothed n-gram model. Its distribution sums to 1 in every context."""
    from neuralgram.training.jobs.ngram import count_texts

    given["command"] = shlex.join(["neuralgram", *sys.argv[1:]])
    record = count_texts(given, say=say)
    if as_json:
        emit(record)
        return
    chosen = ", ".join(
        f"{name} {value}" for name, value in record["model"].items() if not isinstance(value, (list, dict))
    )
    print(f"{chosen}\ncounted {spaced(record['tokens'])} tokens in {figure(record['seconds'], 3)} s")
    for line in held_out_lines(record):
        print(line)
    print(f"model               {record['path']}")
