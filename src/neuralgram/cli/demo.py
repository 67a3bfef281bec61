"""`neuralgram demo`: the main job on an embedded story, in under a minute."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import click

from neuralgram.cli.common import emit, json_option, table
from neuralgram.numbers import figure, spaced


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("neuralgram-demo"),
    show_default=True,
    help="Where the two models and the picture go; an earlier demo there is replaced.",
)
@json_option
def command(out: Path, as_json: bool) -> None:
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
