"""`neuralgram info MODEL [TEXT]`: what a model directory holds, where it came from, and how a network is doing."""

from __future__ import annotations

import shutil
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from neuralgram.cli.common import emit, json_option, model_argument, refuse_beside
from neuralgram.cli.options import reading_options
from neuralgram.numbers import plain

if TYPE_CHECKING:
    from neuralgram.tracing.network_health import Health


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
    if text is None:
        refuse_beside("without a TEXT to read", "field", "encoding", "errors")
    record = _record(model)
    found = None if text is None else _health(model, text, field, encoding, errors)
    if as_json:
        emit(record if found is None else {**record, "health": found.to_json()})
        return
    for line in _lines(_for_people(record), shutil.get_terminal_size((100, 24)).columns):
        print(line)
    if found is not None:
        print("\n" + found.render())


def _record(path: Path) -> dict[str, Any]:
    from neuralgram.modeldir import is_arpa, load
    from neuralgram.textmodel import read_arpa

    saved = read_arpa(path) if path.is_file() and is_arpa(path) else load(path)
    model, story, size = saved.model, saved.info, saved.model.size()
    return {
        "path": str(path),
        "kind": model.kind,
        "vocab_size": model.vocab_size,
        "context": model.context,
        "parameters": size.numbers,
        "unit": size.unit,
        "model": model.config(),
        "tokenizer": saved.tokenizer.name if saved.tokenizer else story.get("tokenizer"),
        "boundary": saved.boundary,
        "tensors": {name: list(array.shape) for name, array in model.state().items()},
        **{key: story[key] for key in ("training", "data", "command", "versions", "parts") if story.get(key)},
    }


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


_NAMES = ("seed", "boundary", "bins_boundary")  # numbers that count nothing


def _for_people(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what stands in it twice, and without the history, which the learning curve shows."""
    out = {record["unit"] if key == "parameters" else key: value for key, value in record.items() if key != "unit"}
    if "training" in out:
        known = {"history", *(k for k, v in out["training"].items() if record["model"].get(k) == v)}
        out["training"] = {key: value for key, value in out["training"].items() if key not in known}
    return out


def _lines(record: dict[str, Any], columns: int, indent: str = "") -> list[str]:
    """A line for each value; long lists go on below their beginning."""
    width = max((len(key) for key in record), default=0)
    lines = []
    for key, value in record.items():
        if isinstance(value, dict) and value:
            lines += [f"{indent}{key}", *_lines(value, columns, indent + "  ")]
            continue
        start = f"{indent}{key:<{width}}  "
        shown = _list(value, columns - len(start)) if isinstance(value, list) and value else [_short(key, value)]
        lines += [(start if i == 0 else " " * len(start)) + text for i, text in enumerate(shown)]
    return lines


def _list(values: list[Any], room: int) -> list[str]:
    """A list in lines of at most `room` characters: a line for each list in it; whole numbers are a shape."""
    if all(isinstance(value, list) for value in values):
        return [line for value in values for line in _list(value, room)]
    whole = all(isinstance(value, int) for value in values)
    text = (" × " if whole else "  ").join(_short("", value) for value in values)
    return wrap(text, max(20, room), break_long_words=False)


def _short(key: str, value: Any) -> str:
    return str(value) if key in _NAMES and value is not None else plain(value)
