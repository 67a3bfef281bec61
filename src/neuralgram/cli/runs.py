"""`neuralgram demo`, `reproduce`, `mix`: runs of several models."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from neuralgram.cli.common import emit, json_option, refuse_beside, say, table
from neuralgram.cli.options import reading_options, setting_options
from neuralgram.numbers import figure, spaced
from neuralgram.training.config import MixSettings


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("neuralgram-demo"),
    show_default=True,
    help="Where the two models and the picture go; an earlier demo there is replaced.",
)
@json_option
def demo(out: Path, as_json: bool) -> None:
    """Train a network and the best add-k n-gram on a small story, compare them on its last fifth, generate."""
    from neuralgram.training.jobs.demo import run_demo
    from neuralgram.training.progress import Display

    with Display() as show:
        found = run_demo(out, on_event=show)
    if as_json:
        emit(found)
        return
    train, held_out = found["train_tokens"], found["held_out_tokens"]
    print(
        f"\nA story of {spaced(train + held_out)} characters, {found['vocab_size']} distinct: "
        f"the first {spaced(train)} train, the last {spaced(held_out)} are held out.\n"
        f"First loss: {found['first_loss']:.4f} nats; log V, what knowing nothing costs: {found['log_v']:.4f}.\n"
    )
    names = {
        "nplm": "network, 3 characters → 60 tanh units",
        "add-k": f"best add-k n-gram (n = {found['n']}, k = {found['k']})",
    }
    table(
        ["model", "held-out perplexity", "nats/token", "bits/byte"],
        [
            [
                names[name],
                figure(found[name]["perplexity"]),
                figure(found[name]["nats_per_token"]),
                figure(found[name]["bits_per_byte"]),
            ]
            for name in ("nplm", "add-k")
        ],
    )
    print("Both were tuned on the held-out part: the network's stopping point, the n-gram's n and k.\n")
    print(f"The network goes on from {found['prompt']!r}:\n")
    print(indent(found["prompt"] + found["sample"], "    ") + "\n")
    print(f"model directories   {found['paths']['nplm']}, {found['paths']['add-k']}")
    print(f"learning curve      {found['learning_curve']}")
    print(f'go on with          neuralgram generate {found["paths"]["nplm"]} "the duck"')


@click.command("reproduce")
@click.argument("recipe", type=click.Choice(["table1", "tinyshakespeare", "tales"]))
@click.option(
    "--data", type=click.Path(path_type=Path), help="The text: brown.zip, tinyshakespeare.txt; tales need none."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where models, figures and the report go.")
@click.option("--rows", help="Only these: names, patterns such as 'mlp*', or paper, review, beyond; comma-separated.")
@click.option("--quick", is_flag=True, help="A fortieth of the text: to see it work. Its figures mean nothing.")
@click.option("--list", "listing", is_flag=True, help="Name the rows and stop.")
@json_option
def reproduce(
    recipe: str, data: Path | None, out: Path, rows: str | None, quick: bool, listing: bool, as_json: bool
) -> None:
    """Run an experiment: table1 (the paper's Table 1 on the Brown corpus), tinyshakespeare, tales.

    Rows that are finished in --out are used again, and a run that was stopped goes on, so the same command may be
    given as often as one likes. The test part is scored when all chosen rows are done.
    """
    from neuralgram.recipes.rows import load_recipe
    from neuralgram.recipes.run import reproduce

    patterns = [word.strip() for word in rows.split(",") if word.strip()] if rows else []
    if listing:
        chosen = load_recipe(recipe).chosen(patterns)
        if as_json:
            emit({"rows": [{"name": row.name, "group": row.group, "kind": row.kind} for row in chosen]})
            return
        for row in chosen:
            print(f"{row.group:<8} {row.kind:<8} {row.name}")
        return
    made = reproduce(
        recipe,
        data=data,
        out=out,
        patterns=patterns,
        quick=quick,
        say=say,
    )
    if as_json:
        emit({name: str(path) for name, path in made.items()})
        return
    print((out / "report.md").read_text(encoding="utf-8"))
    for name, path in made.items():
        say(f"{name:<9} {path}")


@click.command("mix")
@click.argument("models", metavar="MODEL MODEL...", nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The model directory to write.")
@click.option("--overwrite", is_flag=True, help="Replace what --out holds.")
@click.option("--valid", multiple=True, metavar="TEXT", help="Held-out text the weights are fitted to.")
@click.option("--train", multiple=True, metavar="TEXT", help="The training text, for binned weights without --part.")
@setting_options(MixSettings)
@reading_options
@json_option
def mix(as_json: bool, **given: Any) -> None:
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
