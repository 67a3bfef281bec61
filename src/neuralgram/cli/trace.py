"""`neuralgram trace MODEL CONTEXT`: every number of one prediction and one update."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, json_option, model_argument


@click.command("trace")
@model_argument
@click.argument("context", default="")
@click.option("--target", help="The token that came next: adds its rank and surprisal, and a network's gradients.")
@click.option("--lr", type=float, help="Learning rate: adds one full SGD step, before and after (needs --target).")
@click.option("--top", type=int, default=10, show_default=True, help="How many of the likeliest tokens to show.")
@click.option("--units", type=int, default=12, show_default=True, help="How many hidden units to show.")
@click.option("--open", "opened", multiple=True, metavar="NUMBER", help="Open a number's formula: a[0], p[sat].")
@click.option(
    "--check", "checks", multiple=True, metavar="ENTRY", help="Check a gradient by finite differences: H[0][1]."
)
@click.option("--gradient", "gradients", multiple=True, metavar="NAME", help="Print a gradient's entries: C, H, U, …")
@json_option
def command(model: Path, context: str, as_json: bool, **options: Any) -> None:
    """Every number of what MODEL predicts after CONTEXT, each with its equation.

    A network shows its vectors, layers, scores and softmax; a counting model its counts, discounts and back-off
    weights; a mixture each part with its weight.
    """
    from neuralgram.textmodel import load
    from neuralgram.tracing import trace
    from neuralgram.tracing.learning import difference_section
    from neuralgram.tracing.render import print_page

    made = trace(
        load(model),
        context,
        target=options["target"],
        lr=options["lr"],
        top=options["top"],
        units=options["units"],
    )
    formulas = [made.formula(place) for place in options["opened"]]
    found = made.check(*options["checks"]) if options["checks"] else []
    gradients = {name: made.gradient(name) for name in options["gradients"]}
    if as_json:
        extra = {
            "formulas": [formula.to_json() for formula in formulas],
            "checks": [difference.to_json() for difference in found],
            "gradients": {name: values.tolist() for name, values in gradients.items()},
        }
        emit({**made.to_json(), **extra})
        return
    sections = [] if formulas else list(made.all_sections)
    if found:
        sections.append(difference_section(found))
    print_page(made.title, sections, subtitle=made.subtitle)
    for formula in formulas:
        click.echo(f"\n{formula}")
    _print_gradients(gradients)


def _print_gradients(gradients: dict[str, Any]) -> None:
    import numpy as np

    for name, values in gradients.items():
        with np.printoptions(precision=6, suppress=True, linewidth=100, threshold=4000):
            click.echo(f"\n∂{name} {list(values.shape)}\n{values}")
