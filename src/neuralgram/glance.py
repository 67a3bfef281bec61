"""A model at a glance: one line for a prompt, one table for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from neuralgram.numbers import plain, spaced

_SIZES = (
    "vocab",
    "vocab_size",
    "context",
    "order",
    "boundary",
    "bins_boundary",
    "parts",
    "discounts",
)  # told otherwise
_MOST = 12  # tensors or parts that are listed


def line(model: Any) -> str:
    """`<NPLM: V 27, context 3, h 20, m 4, 1 495 parameters>`."""
    told = [f"V {spaced(model.vocab_size)}", f"context {model.context}"]
    config = _config(model)
    told += [f"{name} {config[name]}" for name in ("d_emb", "d_hidden", "head") if name in config]
    size = _size(model)
    told += [f"{spaced(size[0])} {size[1]}"] if size else []
    parts = [f"{_weight(model, k)}·{part!r}" for k, part in enumerate(model.parts)]
    told += [" + ".join(parts)] if parts else []
    return f"<{type(model).__name__}: {', '.join(told)}>"


def table(model: Any, more: Iterable[tuple[str, str]] = ()) -> str:
    """The same as an HTML table, with the settings and the size of each tensor, order or part."""
    rows = [("vocabulary", f"{spaced(model.vocab_size)} tokens"), ("context", f"{model.context} tokens")]
    rows += more
    size = _size(model)
    rows += [(size[1], spaced(size[0]))] if size else []
    rows += [(name, plain(value)) for name, value in _config(model).items() if name not in _SIZES and _told(value)]
    rows += _inside(model)
    cells = "".join(f"<tr><th style='text-align:left'>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<div><b>{escape(type(model).__name__)}</b><table>{cells}</table></div>"


def _config(model: Any) -> dict[str, Any]:
    return dict(model.config())


def _size(model: Any) -> tuple[int, str] | None:
    """How much it learned or counted."""
    if hasattr(model, "named_parameters"):
        return sum(p.numel() for _, p in model.named_parameters()), "parameters"
    orders = _orders(model)
    return (sum(orders), "n-grams") if orders else None


def _orders(model: Any) -> list[int]:
    """How many n-grams of each order a counting model holds."""
    state = model.state() if getattr(model, "kind", "") == "ngram" else {}
    first = len(state["log_p.1"]) if "log_p.1" in state else model.vocab_size
    return [first, *(len(array) for name, array in state.items() if name.startswith("keys."))] if state else []


def _inside(model: Any) -> list[tuple[str, str]]:
    if hasattr(model, "named_parameters"):
        found = [(name, " × ".join(map(spaced, p.shape))) for name, p in model.named_parameters()]
    elif model.parts:
        found = [(f"part {k + 1}, {_weight(model, k)}", repr(part)) for k, part in enumerate(model.parts)]
    else:
        found = [(f"order {k}", f"{spaced(count)} n-grams") for k, count in enumerate(_orders(model), 1)]
    more = [("…", f"{len(found) - _MOST} more")] if len(found) > _MOST else []
    return found[:_MOST] + more


def _weight(mixture: Any, k: int) -> str:
    """The weight of a part, or the range of its weights over the bins."""
    low, high = float(mixture.weights[:, k].min()), float(mixture.weights[:, k].max())
    return f"{low:.4f}" if low == high else f"({low:.4f} … {high:.4f})"


def _told(value: Any) -> bool:
    """Whether a setting says something: what is not there or empty does not."""
    return value is not None and value not in ({}, [], ())
