"""`neuralgram mix MODEL MODEL… --out DIR`: a weighted mean of models, which is a model itself."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, json_option, refuse_beside, say, table
from neuralgram.cli.options import reading_options, setting_options
from neuralgram.numbers import figure, spaced
from neuralgram.training.config import MixSettings


@click.command("mix")
@click.argument("models", metavar="MODEL MODEL...", nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The model directory to write.")
@click.option("--overwrite", is_flag=True, help="Replace what --out holds.")
@click.option("--valid", multiple=True, metavar="TEXT", help="Held-out text the weights are fitted to.")
@click.option("--train", multiple=True, metavar="TEXT", help="The training text, for binned weights without --part.")
@setting_options(MixSettings)
@reading_options
@json_option
def command(as_json: bool, **given: Any) -> None:
    """Mix models of one tokenizer and boundary: P = Σ λ_k P_k. The mixture can be evaluated, sampled, served, and
    mixed again; its loss on any token is at most the weighted mean of its parts' losses.

    Weights are fitted by expectation–maximisation. Held-out text that fits them is no test of them any more.
    """
    from neuralgram.training.jobs.mixture import mix_models

    if given["weights"] != "binned":
        refuse_beside("without --weights binned, whose bins it counts", "train")
    if not given["valid"]:
        refuse_beside("without a text to read", "field", "encoding", "errors")
    given["command"] = shlex.join(["neuralgram", *sys.argv[1:]])
    given["models"] = list(given["models"])
    record = mix_models(given)
    if as_json:
        emit(record)
        return
    weights = record["weights"]
    if record["bins"] is None:
        table(["part", "weight"], [[part, f"{w:.4f}"] for part, w in zip(record["parts"], weights[0], strict=True)])
    else:
        print("Bins of contexts, by how often their last tokens occur in training:")
        rows = [
            [str(q), _range(*found), *(f"{w:.4f}" for w in row)]
            for q, (found, row) in enumerate(zip(record["bins"], weights, strict=True))
        ]
        table(["bin", "times", *map(str, record["parts"])], rows)
    if record["valid"]:
        marked = " (weights fitted on it)" if record["weights_fitted_on_valid"] else ""
        say(f"held-out perplexity  {figure(record['valid']['perplexity'], 5)}{marked}")
    print(f"model  {record['path']}")


def _range(least: int, most: int) -> str:
    """Frequencies as a person reads them."""
    if least > most:
        return "–"
    return spaced(least) if least == most else f"{spaced(least)} … {spaced(most)}"
