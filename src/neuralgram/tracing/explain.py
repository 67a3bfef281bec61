"""`trace(model, context, target=…, lr=…)`: every number of one prediction and one update, for any model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.lm import LanguageModel
from neuralgram.neural.panels import explain, place_name
from neuralgram.text.tokenizers.base import visible
from neuralgram.text.windows import as_ids
from neuralgram.tracing import panels
from neuralgram.tracing import update as updating
from neuralgram.tracing.names import Words
from neuralgram.tracing.result import Outcome, Part, Place, Trace, Traced, network_of
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
    return lm.kind == "nplm" or any(_learns(part) for part in lm.parts)


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
    network = network_of(lm)
    forward = None if network is None else network.forward(ids)
    log_p = np.asarray(lm.log_probs(ids[None, :])[0], np.float64) if forward is None else forward.log_p
    words = naming.words(_shown(log_p, target, choices.top), target, choices.units)
    looked = panels.looked_at(words)
    update = None
    if network is None or forward is None:
        told = panels.sections(lm.explain(ids, looked), words)
        sections = told or [panels.distribution(log_p, words)]
    else:
        sections = panels.sections(explain(network, forward, looked), words)
        update = None if target is None else updating.update(network, forward, words, choices.lr)
    parts = tuple(
        Part(float(share), _trace(part, ids[len(ids) - part.context :], naming, target, choices))
        for share, part in zip(lm.shares(ids), lm.parts, strict=True)
    )
    window, top, outcome = _base(lm, ids, naming, log_p, words)
    return Trace(
        _KINDS.get(lm.kind, "model"),
        _name(lm),
        lm.summary,
        window,
        tuple(sections),
        log_p,
        top,
        outcome,
        update,
        parts,
        network,
        forward,
        naming.row_of,
    )


_KINDS = {"nplm": "network", "ngram": "counting", "mixture": "mixture"}


def _base(
    lm: LanguageModel, ids: NDArray[np.int64], naming: _Naming, log_p: Floats, words: Words
) -> tuple[tuple[Place, ...], tuple[Outcome, ...], Outcome | None]:
    window = tuple(Place(place_name(i, len(ids)), int(w), naming.name(int(w))) for i, w in enumerate(ids))
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
    if lm.kind == "ngram":
        return f"{lm.called} of order {lm.context + 1}"
    return "network" if lm.kind == "nplm" else lm.called.lower()


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
