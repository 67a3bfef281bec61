"""A model at a glance: one line for a prompt, one table for a notebook. All of it is asked of the contract."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from neuralgram.numbers import plain, spaced

if TYPE_CHECKING:
    from neuralgram.lm import LanguageModel

_TOLD = ("vocab", "vocab_size", "context", "order", "boundary", "bins_boundary", "parts", "discounts")  # otherwise
_MOST = 12  # tensors or parts that are listed


def line(model: LanguageModel) -> str:
    """`<NPLM: V 27, context 3, h 20, m 4, 1 495 parameters>`."""
    told = [f"V {spaced(model.vocab_size)}", f"context {model.context}"]
    config = model.config()
    told += [f"{name} {config[name]}" for name in ("d_emb", "d_hidden", "head") if name in config]
    size = model.size()
    told += [f"{spaced(size.numbers)} {size.unit}"] if size.numbers and not model.parts else []
    parts = [f"{weight}·{part!r}" if weight else repr(part) for weight, part in _weighted(model)]
    told += [" + ".join(parts)] if parts else []
    return f"<{type(model).__name__}: {', '.join(told)}>"


def table(model: LanguageModel, more: Iterable[tuple[str, str]] = ()) -> str:
    """The same as an HTML table, with the settings and the size of each tensor, order or part."""
    rows = [("vocabulary", f"{spaced(model.vocab_size)} tokens"), ("context", f"{model.context} tokens")]
    rows += more
    size = model.size()
    rows += [(size.unit, spaced(size.numbers))] if size.numbers else []
    rows += [(name, plain(value)) for name, value in model.config().items() if name not in _TOLD and _says(value)]
    rows += _inside(model)
    cells = "".join(f"<tr><th style='text-align:left'>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<div><b>{escape(type(model).__name__)}</b><table>{cells}</table></div>"


def _inside(model: LanguageModel) -> list[tuple[str, str]]:
    """Its parts; or the n-grams of each order, where it stores them so; or its arrays."""
    state = model.state()
    listed = [len(array) for name, array in state.items() if name.startswith("keys.")]
    if model.parts:
        parts = enumerate(_weighted(model), 1)
        found = [(f"part {k}, {weight}" if weight else f"part {k}", repr(part)) for k, (weight, part) in parts]
    elif listed or model.kind == "ngram":
        first = len(state["log_p.1"]) if "log_p.1" in state else model.vocab_size
        found = [(f"order {k}", f"{spaced(count)} n-grams") for k, count in enumerate([first, *listed], 1)]
    else:
        found = [(name, " × ".join(map(spaced, array.shape))) for name, array in state.items()]
    more = [("…", f"{len(found) - _MOST} more")] if len(found) > _MOST else []
    return found[:_MOST] + more


def _weighted(model: LanguageModel) -> list[tuple[str, LanguageModel]]:
    """Each part with its weight, or the range of its weights over the bins; "" where it has none."""
    weights = model.part_weights
    if weights is None:
        return [("", part) for part in model.parts]
    lows, highs = weights.min(axis=0), weights.max(axis=0)
    said = [f"{a:.4f}" if a == b else f"({a:.4f} … {b:.4f})" for a, b in zip(lows, highs, strict=True)]
    return list(zip(said, model.parts, strict=True))


def _says(value: Any) -> bool:
    """Whether a setting says something: what is not there or empty does not."""
    return value is not None and value not in ({}, [], ())
