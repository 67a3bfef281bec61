"""Which words have vectors close to a word's, in the full space of C."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuralgram.errors import InputError
from neuralgram.lm import LanguageModel
from neuralgram.settings import whole
from neuralgram.tracing.names import word_id
from neuralgram.tracing.result import Traced
from neuralgram.tracing.steps import Floats


class Neighbor(NamedTuple):
    """A word near another: cosine similarity (1 is the same direction) or Euclidean distance (0 is the same place)."""

    symbol: str
    id: int
    value: float


METRICS = ("cosine", "euclidean")


def neighbors(model: Traced, word: str | int, k: int = 10, metric: str = "cosine") -> list[Neighbor]:
    """The `k` words whose rows of C are nearest to that of `word`, nearest first; ties in id order.

    metric  cosine: C[v]·C[w] / (‖C[v]‖ ‖C[w]‖), 0 where a row is 0;  euclidean: ‖C[v] − C[w]‖
    Raises `InputError` for a word the model does not know and for a model without vectors.
    """
    lm = model if isinstance(model, LanguageModel) else model.model
    table = vectors(lm)
    index = _index(model, lm, word)
    if whole("k", k) < 1:
        raise InputError(f"k = {k}: expected at least 1")
    if metric not in METRICS:
        raise InputError(f"metric {metric!r}: expected one of {', '.join(METRICS)}")
    values = closeness(table, table[index], metric)
    order = np.argsort(-values if metric == "cosine" else values, kind="stable")
    name = str if isinstance(model, LanguageModel) else model.symbol
    return [Neighbor(name(int(i)), int(i), float(values[i])) for i in order if i != index][:k]


def vectors(lm: LanguageModel) -> Floats:
    """C [V, m] in float64; refuses models that have none."""
    found = lm.state().get("emb.weight")
    if found is None:
        raise InputError(f"{lm.called} has no vectors: expected a network")
    return np.asarray(found, np.float64)


def closeness(table: Floats, vector: ArrayLike, metric: str) -> Floats:
    """Cosine similarity with, or Euclidean distance to, `vector` [m] of every row of `table` [V, m]."""
    wanted = np.asarray(vector, np.float64)
    if metric == "euclidean":
        return np.asarray(np.sqrt(((table - wanted) ** 2).sum(axis=1)), np.float64)
    norms = np.sqrt((table**2).sum(axis=1)) * np.sqrt((wanted**2).sum())
    similarity: Floats = np.divide(table @ wanted, norms, out=np.zeros(len(table)), where=norms > 0)
    return similarity


def _index(model: Traced, lm: LanguageModel, word: str | int) -> int:
    if isinstance(word, str) and not isinstance(model, LanguageModel):
        found = word_id(model, word)
        if found is None:
            raise InputError(f"word {word!r}: not one token of this model's vocabulary")
        return found
    if not isinstance(word, int) or not 0 <= word < lm.vocab_size:
        raise InputError(f"word {word!r}: expected an id, 0 … {lm.vocab_size - 1}")
    return word
