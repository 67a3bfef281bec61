"""`neuralgram train nplm TEXT… --out DIR`: train a network; what is not set is chosen from the text."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, held_out_lines, json_option, say
from neuralgram.cli.corpus_options import corpus_options
from neuralgram.cli.options import setting_options
from neuralgram.families import HEADS
from neuralgram.neural.config import NPLMConfig
from neuralgram.training.config import TrainConfig


@click.command("nplm")
@corpus_options
@click.option("--resume", is_flag=True, help="Go on with the run that stopped in --out, exactly where it was.")
@setting_options(NPLMConfig, TrainConfig, planned=True, without=["vocab", "seed"], families={"head_options": HEADS})
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to train. [auto]")
@json_option
def command(as_json: bool, **given: Any) -> None:
    """Train the neural probabilistic language model on TEXT… into --out.

    Settings that are not given are chosen from the text, printed with their reasons, and stored. The run ends with
    the weights that were best on the validation part. Ctrl-C saves; `--resume` goes on.
    """
    from neuralgram.training.jobs.network import train_texts
    from neuralgram.training.progress import Display

    given["command"] = shlex.join(["neuralgram", *sys.argv[1:]])
    with Display() as show:
        trained = train_texts(given, on_event=show, say=say)
    record = trained.to_json()
    if as_json:
        emit(record)
        return
    _report(record, given["out"])


def _report(record: dict[str, Any], out: Path) -> None:
    log_v = record["log_v"]
    print(f"first loss          {record['first_loss']:.4f} nats (log V = {log_v:.4f})")
    for line in held_out_lines(record):
        print(line)
    print(f"model               {out}")
    print(f"learning curve      {record['learning_curve']}")
