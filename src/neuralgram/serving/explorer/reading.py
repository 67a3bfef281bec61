"""Reading and writing: each token's surprisal under several models, and the distribution the next draw uses."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np

from neuralgram.errors import InputError
from neuralgram.lm import perplexity
from neuralgram.sampling import Chooser, Sampling
from neuralgram.textmodel import TextModel

_KINDS = {"nplm": "network", "ngram": "n-gram", "mixture": "mixture"}
LOST = "this network's numbers are none any more: go back to its last good step, or rewind"
_TRIED = 5  # times as many tokens are written as are wanted in one unit
LONGEST = 2_000  # characters that are read at once


class Token(NamedTuple):
    """One token of a text: its place, and −log P in nats under the network, the n-gram and their mixture.

    A token before which a stream has no whole window has no loss: None.
    """

    symbol: str
    id: int
    start: int
    end: int
    losses: tuple[float | None, ...]


class Candidate(NamedTuple):
    """A possible next token: its probability, and the weight the next draw gives it."""

    id: int
    symbol: str
    probability: float
    weight: float


class Reading(NamedTuple):
    """A text under several models: `names` of them, tokens, and the perplexity of each over the tokens all scored."""

    names: tuple[str, ...]
    tokens: list[Token]
    perplexities: tuple[float, ...]
    scored: int


def read(text: str, model: TextModel, beside: TextModel | None, weight: float = 0.5) -> Reading:
    """Surprisals of `text`: a model alone, or beside another that reads the same tokens, and their mixture.

    The mixture adds probabilities: weight·p + (1 − weight)·q.
    """
    if len(text) > LONGEST:
        raise InputError(f"a text of {len(text):,} characters: this view reads up to {LONGEST:,}; take a part of it")
    columns = [model.score(text)]
    if beside is not None:
        columns.append(beside.score(text))
    names = names_of(model, beside)
    # All lists end with the text's last token; a model with a wider window begins later in a stream.
    longest = max(columns, key=len)
    missing = [len(longest) - len(column) for column in columns]
    tokens = []
    for i, score in enumerate(longest):
        losses = [column[i - gap].nats if i >= gap else None for column, gap in zip(columns, missing, strict=True)]
        if len(losses) == 2:
            losses.append(_mixed(losses[0], losses[1], weight))
        tokens.append(Token(score.symbol, score.id, score.start, score.end, tuple(losses)))
    scored = [token.losses for token in tokens if None not in token.losses]
    table = np.array(scored, np.float64).reshape(-1, len(names))
    means = tuple(perplexity(float(column.sum()), len(column)) for column in table.T)
    return Reading(names, tokens, means, len(table))


def names_of(model: TextModel, beside: TextModel | None) -> tuple[str, ...]:
    """What the columns are called: by the models' kinds."""
    first, *other = [_KINDS.get(m.model.kind, m.model.called) for m in (model, beside) if m is not None]
    if not other:
        return (first,)
    second = other[0] if other[0] != first else f"other {first}"
    return (first, second, "half and half" if "mixture" in (first, second) else "mixture")


def _mixed(first: float | None, second: float | None, weight: float) -> float | None:
    if first is None or second is None:
        return None
    with np.errstate(divide="ignore"):
        return -float(np.logaddexp(np.log(weight) - first, np.log1p(-weight) - second))


def own_words(model: TextModel, count: int) -> list[int]:
    """So many tokens that a model writes itself (seed 0), never the unknown one, and of one unit if it can."""
    lm, end, unknown = model.model, model.boundary_id, model.tokenizer.unknown
    start = np.full(lm.context, 0 if end is None else end, np.int64)
    sampling = Sampling(banned=() if unknown is None else (unknown,))
    written = list(islice(lm.stream(start, sampling, 0), _TRIED * count))
    ends = [-1, *(i for i, token in enumerate(written) if token == end)]
    for i in ends:
        unit = written[i + 1 : i + 1 + count]
        if len(unit) == count and end not in unit:
            return unit
    return written[:count]


def candidates(prompt: str, model: TextModel, sampling: Sampling, most: int = 12) -> list[Candidate]:
    """The likeliest next tokens after `prompt`, with what temperature and top-k make of them."""
    row = model.model.log_probs(model.window(prompt)[None, :])[0]
    if np.isnan(row).any():
        raise InputError(LOST)
    weights = Chooser(sampling, 0).weights(row)
    order = np.argsort(-row, kind="stable")[:most]
    return [Candidate(int(i), model.symbol(int(i)), float(np.exp(row[i])), float(weights[i])) for i in order]
