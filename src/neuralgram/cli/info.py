"""`neuralgram info MODEL [TEXT]`: what a model directory holds, where it came from, and how a network is doing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuralgram.cli.common import emit, json_option, model_argument, reading_options

if TYPE_CHECKING:
    from neuralgram.tracing.health import Health


@click.command("info")
@model_argument
@click.argument("text", required=False)
@reading_options
@json_option
def command(model: Path, text: str | None, field: str | None, encoding: str, errors: str, as_json: bool) -> None:
    """Architecture, sizes, tokenizer, boundary, training and origin of MODEL; checks that its files are whole.

    With TEXT, the health of a network on it: saturated and dead units, first loss against log V, norms, the ratio of
    updates to weights, the rank of its log-probabilities against its bound.
    """
    from neuralgram.modeldir import load

    saved = load(model)
    story = saved.info
    state: dict[str, Any] = saved.model.state()  # type: ignore[attr-defined]
    shapes = {name: list(array.shape) for name, array in state.items()}
    record = {
        "path": str(model),
        "kind": story.get("kind", "nplm"),
        "vocab_size": saved.model.vocab_size,
        "context": saved.model.context,
        "parameters": _parameters(saved.model, state),
        "model": saved.model.config(),  # type: ignore[attr-defined]
        "tokenizer": saved.tokenizer.name if saved.tokenizer else story.get("tokenizer"),
        "boundary": saved.boundary,
        "tensors": shapes,
        **{key: story[key] for key in ("training", "data", "command", "versions", "parts") if story.get(key)},
    }
    found = None if text is None else _health(model, text, field, encoding, errors)
    if as_json:
        emit(record if found is None else {**record, "health": found.to_json()})
        return
    record.get("training", {}).pop("history", None)  # the learning curve shows it
    for line in _lines(record):
        print(line)
    if found is not None:
        print("\n" + found.render())


def _parameters(model: Any, state: dict[str, Any]) -> int:
    """What training adjusts in a network (not the tables of its head); what a counting model stores."""
    if hasattr(model, "parameters"):
        return sum(p.numel() for p in model.parameters())
    return sum(int(array.size) for array in state.values())


def _health(path: Path, text: str, *reading: str | None) -> Health:
    from neuralgram.evaluation.texts import Reading, text_part
    from neuralgram.textmodel import load
    from neuralgram.tracing import health

    field, encoding, errors = reading
    model = load(path)
    training = model.info.get("training", {})
    how = Reading([text], field=field, encoding=encoding or "utf-8", errors=errors or "strict")
    rate = training.get("config", {}).get("lr", 0.1)
    return health(model, text_part(model, how).corpus, lr=rate, first_loss=training.get("first_loss"))


def _lines(record: dict[str, Any], indent: str = "") -> list[str]:
    width = max((len(key) for key in record), default=0)
    lines = []
    for key, value in record.items():
        if isinstance(value, dict) and value:
            lines += [f"{indent}{key}", *_lines(value, indent + "  ")]
        else:
            lines.append(f"{indent}{key:<{width}}  {_short(value)}")
    return lines


def _short(value: Any) -> str:
    if isinstance(value, list):
        return " × ".join(map(str, value)) if all(isinstance(v, int) for v in value) else " ".join(map(str, value))
    return "–" if value is None or value == {} else str(value)
