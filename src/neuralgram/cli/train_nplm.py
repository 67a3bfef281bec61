"""`neuralgram train nplm TEXT… --out DIR`: train a network; what is not set is chosen from the text."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, held_out_lines, json_option, say
from neuralgram.cli.corpus_options import corpus_options


def _sizes(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> int | list[int] | None:
    """`100`, `0` or `100,100`."""
    if value is None:
        return None
    try:
        sizes = [int(word) for word in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r}: expected a size, or sizes such as 100,100") from None
    return sizes[0] if len(sizes) == 1 else sizes


def _options(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any] | None:
    """`samples=256` → {"samples": 256}; several numbers, as in `cutoffs=2000,8000`, are a list."""
    options = {}
    for word in values:
        name, _, value = word.partition("=")
        try:
            options[name] = json.loads(f"[{value}]" if "," in value and not value.startswith("[") else value)
        except ValueError:
            name = ""
        if not name:
            raise click.BadParameter(f"{word!r}: expected a name and a number, such as samples=256") from None
    return options or None


@click.command("nplm")
@corpus_options
@click.option("--resume", is_flag=True, help="Go on with the run that stopped in --out, exactly where it was.")
@click.option("--context", type=int, help="c, the tokens read before each (n − 1). [auto]")
@click.option("--d-emb", type=int, help="m, the length of a token's vector. [auto]")
@click.option("--d-hidden", callback=_sizes, help="h, hidden units; 100,100 for two layers; 0 for none. [auto]")
@click.option("--direct/--no-direct", default=None, help="Direct connections from vectors to scores, W. [auto]")
@click.option("--activation", type=click.Choice(["tanh", "relu", "sigmoid", "identity"]), help="[tanh]")
@click.option("--tie/--no-tie", default=None, help="Output vectors are the input vectors. [auto]")
@click.option("--head", help="The output layer: softmax, adaptive, tree, sampled, nce, mos. [softmax]")
@click.option(
    "--head-option",
    "head_options",
    callback=_options,
    multiple=True,
    help="Of the head, as samples=256: softmax has smoothing; sampled samples, power, smoothing; nce samples, power; "
    "adaptive cutoffs; mos components.",
)
@click.option("--dropout", type=float, help="Of hidden units, while training. [auto]")
@click.option("--dropout-input", type=float, help="Of the vectors' entries, while training. [auto]")
@click.option("--epochs", type=float, help="At most so many passes. [auto]")
@click.option("--steps", type=int, help="Exactly so many updates, instead.")
@click.option("--max-time", type=float, help="About so many seconds, turned into a number of updates first.")
@click.option("--batch-size", type=int, help="Windows an update. [auto]")
@click.option("--optimizer", help="adamw, sgd, sparse-sgd, adagrad. [auto]")
@click.option("--schedule", help="constant, paper, linear, cosine. [auto]")
@click.option("--lr", type=float, help="Learning rate. [auto]")
@click.option("--momentum", type=float, help="Of sgd. [0]")
@click.option("--weight-decay", type=float, help="Never on a bias. [auto]")
@click.option("--clip", type=float, help="Bound on the global gradient norm. [none]")
@click.option("--eval-every", type=int, help="Updates between validations. [once an epoch, at least 20 times]")
@click.option("--valid-tokens", type=int, help="At most so many tokens a validation, evenly spaced. [auto]")
@click.option("--patience", type=int, help="Validations without a better one before stopping. [auto]")
@click.option("--average", help="Averaging of weights: none, ema, tail. [auto]")
@click.option("--precision", type=click.Choice(["auto", "fp32", "bf16"]), help="[auto]")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="[auto]")
@click.option("--threads", type=int, help="Of the processor. [auto]")
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
