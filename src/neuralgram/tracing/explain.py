"""`trace(model, context, target=…, lr=…)`: every number of one prediction and one update, for any model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.lm import LanguageModel
from neuralgram.text.tokenizers.base import visible
from neuralgram.text.windows import as_ids
from neuralgram.tracing import panels, prediction
from neuralgram.tracing import update as updating
from neuralgram.tracing.names import Words
from neuralgram.tracing.network import Network
from neuralgram.tracing.result import Outcome, Part, Place, Trace, Traced
from neuralgram.tracing.steps import Floats


def trace(
    model: Traced,
    context: str | Sequence[int] | NDArray[np.int64],
    *,
    target: str | int | None = None,
    lr: float | None = None,
    top: int = 10,
    units: int = 12,
) -> Trace:
    """Every number of the prediction after `context`; with `target` of the gradients, with `lr` of one SGD step.

    model    a `TextModel` (strings or ids) or any `LanguageModel` (ids; the last c are read)
    top      how many of the likeliest tokens the tables show
    units    how many hidden units they show; the steps hold all of them

    A network is worked out in float64 from its weights. Raises `InputError` for what cannot be read.
    """
    if top < 1 or units < 1:
        raise InputError(f"top {top}, units {units}: expected at least 1 of each")
    ids, lm, name, row_of = _read(model, context)
    wanted = _target(model, lm, target)
    if lr is not None and wanted is None:
        raise InputError(f"learning rate {lr} without a target: a step needs the token that came next (--target)")
    if lr is not None and not _learns(lm):
        raise InputError(f"learning rate {lr}: {lm.called} is counted, and makes no step; leave it out")
    return _trace(lm, ids, _Naming(name, row_of), wanted, _Choices(lr, top, units))


def _learns(lm: LanguageModel) -> bool:
    """Whether the model, or a part of the mixture, is trained by steps."""
    return getattr(lm, "kind", "") == "nplm" or any(_learns(part) for part in lm.parts)


class _Naming(NamedTuple):
    name: Callable[[int], str]
    row_of: Callable[[str], int | None]

    def words(self, shown: tuple[int, ...], target: int | None, units: int) -> Words:
        """The tokens shown, each by a name that can be seen."""
        return Words(lambda token: visible(self.name(token)), shown, target, units)


class _Choices(NamedTuple):
    lr: float | None
    top: int
    units: int


def _trace(lm: LanguageModel, ids: NDArray[np.int64], naming: _Naming, target: int | None, choices: _Choices) -> Trace:
    kind = getattr(lm, "kind", "model")
    if kind == "nplm":
        return _trace_network(lm, ids, naming, target, choices)
    log_p = np.asarray(lm.log_probs(ids[None, :])[0], np.float64)
    words = naming.words(_shown(log_p, target, choices.top), target, choices.units)
    parts: tuple[Part, ...] = ()
    if kind == "mixture":
        from neuralgram.tracing.mixtures import bin_of, mixture_sections, weights_of

        weights = weights_of(lm, ids)
        traces = [_trace(part, part_window(part, ids), naming, target, choices) for part in lm.parts]
        parts = tuple(Part(float(w), t) for w, t in zip(weights, traces, strict=True))
        sections = mixture_sections(parts, log_p, words, bin_of(lm, ids))
    else:
        told = panels.sections(lm.explain(ids, panels.looked_at(words)), words)
        sections = told or [panels.distribution(log_p, words)]
    names = {"mixture": "mixture", "ngram": "counting"}
    window, top, outcome = _base(lm, ids, naming, log_p, words)
    return Trace(
        names.get(kind, "model"), _name(lm), _summary(lm), window, tuple(sections), log_p, top, outcome, parts=parts
    )


def part_window(part: LanguageModel, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The end of the window that a part of a mixture reads."""
    return ids[len(ids) - part.context :]


def _trace_network(
    lm: LanguageModel, ids: NDArray[np.int64], naming: _Naming, target: int | None, choices: _Choices
) -> Trace:
    network = Network.of(lm)
    forward = network.forward(ids)
    words = naming.words(_shown(forward.log_p, target, choices.top), target, choices.units)
    update = None if target is None else updating.update(network, forward, words, choices.lr)
    window, top, outcome = _base(lm, ids, naming, forward.log_p, words)
    sections = tuple(prediction.sections(network, forward, words))
    return Trace(
        "network",
        _name(lm),
        _summary(lm),
        window,
        sections,
        forward.log_p,
        top,
        outcome,
        update,
        network=network,
        forward=forward,
        row_of=naming.row_of,
    )


def _base(
    lm: LanguageModel, ids: NDArray[np.int64], naming: _Naming, log_p: Floats, words: Words
) -> tuple[tuple[Place, ...], tuple[Outcome, ...], Outcome | None]:
    window = tuple(Place(prediction.place_name(i, len(ids)), int(w), naming.name(int(w))) for i, w in enumerate(ids))
    top = tuple(_outcome(log_p, w, naming.name) for w in words.shown)
    return window, top, None if words.target is None else _outcome(log_p, words.target, naming.name)


def _outcome(log_p: Floats, token: int, name: Callable[[int], str]) -> Outcome:
    nats = -float(log_p[token])
    rank = 1 + int((log_p > log_p[token]).sum())
    return Outcome(name(token), token, float(np.exp(-nats)), rank, nats, nats / float(np.log(2)))


def _shown(log_p: Floats, target: int | None, top: int) -> tuple[int, ...]:
    best = [int(i) for i in np.argsort(-log_p, kind="stable")[:top]]
    return tuple(best if target is None or target in best else [*best, target])


def _name(lm: LanguageModel) -> str:
    """In a few words, beside what is told of it as a part of a mixture."""
    kind = getattr(lm, "kind", "")
    if kind == "ngram":
        return f"{getattr(lm, 'smoothing', 'n-gram')} of order {lm.context + 1}"
    return {"nplm": "network", "mixture": "mixture"}.get(kind, type(lm).__name__.lower())


def _summary(lm: LanguageModel) -> str:
    config: dict[str, Any] = lm.config()
    if getattr(lm, "kind", "") == "nplm":
        hidden = config["d_hidden"]
        sizes = f"V {lm.vocab_size}, c {lm.context}, m {config['d_emb']}, h {hidden}"
        options = [config["activation"] if hidden else "no hidden layer", "direct path" if config["direct"] else ""]
        options += ["tied" if config["tie"] else "", "" if config["head"] == "softmax" else f"head {config['head']}"]
        return f"a network: {sizes}, {', '.join(option for option in options if option)}"
    if getattr(lm, "kind", "") == "ngram":
        return f"a counting model: {config.get('smoothing', 'n-gram')}, order {lm.context + 1}, V {lm.vocab_size}"
    return f"{'a mixture' if lm.parts else type(lm).__name__}: V {lm.vocab_size}, c {lm.context}"


def _read(
    model: Traced, context: str | Sequence[int] | NDArray[np.int64]
) -> tuple[NDArray[np.int64], LanguageModel, Callable[[int], str], Callable[[str], int | None]]:
    """The window's ids, the model over ids, and how its words are named and found."""
    if isinstance(model, LanguageModel):
        if isinstance(context, str):
            raise InputError(f"context {context!r} is text: this model reads ids; give ids, or a TextModel")
        return _last(model, context), model, str, lambda text: None
    text_model = model
    ids = text_model.window(context) if isinstance(context, str) else _last(text_model.model, context)

    def row_of(text: str) -> int | None:
        from neuralgram.tracing.names import word_id

        return word_id(text_model, text)

    return ids, text_model.model, text_model.symbol, row_of


def _last(lm: LanguageModel, context: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    ids = as_ids(context, lm.vocab_size)
    if ids.ndim != 1 or len(ids) < lm.context:
        raise InputError(f"context of shape {list(ids.shape)}: expected at least {lm.context} ids, oldest first")
    return ids[len(ids) - lm.context :]


def _target(model: Traced, lm: LanguageModel, target: str | int | None) -> int | None:
    if target is None:
        return None
    if not isinstance(target, str):
        return int(as_ids([target], lm.vocab_size)[0])
    if isinstance(model, LanguageModel):
        raise InputError(f"target {target!r} is text: this model knows ids; give an id, or a TextModel")
    from neuralgram.tracing.names import one_token

    return one_token(model, target)
