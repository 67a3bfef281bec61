"""`neuralgram info MODEL`: what a model directory holds and where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, json_option, model_argument


@click.command("info")
@model_argument
@json_option
def command(model: Path, as_json: bool) -> None:
    """Architecture, sizes, tokenizer, boundary, training and origin of MODEL; checks that its files are whole."""
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
        "parameters": sum(int(array.size) for array in state.values()),
        "model": saved.model.config(),  # type: ignore[attr-defined]
        "tokenizer": saved.tokenizer.name if saved.tokenizer else story.get("tokenizer"),
        "boundary": saved.boundary,
        "tensors": shapes,
        **{key: story[key] for key in ("training", "data", "command", "versions", "parts") if story.get(key)},
    }
    if as_json:
        emit(record)
        return
    record.get("training", {}).pop("history", None)  # the learning curve shows it
    for line in _lines(record):
        print(line)


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
