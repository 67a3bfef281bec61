"""Where compared models differ: by how often the token occurs in training, by the longest context seen there, by file,
and the tokens each predicts best. All from losses that are measured already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.evaluation.evaluate import Evaluation
from neuralgram.lm import LanguageModel
from neuralgram.text.staging import Documents
from neuralgram.text.windows import Corpus

FREQUENCIES = (0, 1, 2, 4, 11, 101, 1001, 10001)  # where bins of training frequency begin
SHOWN = 10  # tokens listed for each model
_CHUNK = 65536


class Breakdown(NamedTuple):
    """Mean losses by group: `labels` [G], `tokens` [G] scored in each, `nats` [M, G] of the models in their order."""

    title: str
    labels: list[str]
    tokens: list[int]
    nats: list[list[float]]


class Skipped(NamedTuple):
    """A breakdown that could not be made, and why."""

    title: str
    reason: str


class Strength(NamedTuple):
    """A token one model predicts better than every other: how often it was scored, and nats gained in all."""

    symbol: str
    times: int
    gained: float


def by_frequency(rows: Sequence[Evaluation]) -> Breakdown | Skipped:
    """By how often the token's type occurs in the training part of the first model that tells."""
    title = "by frequency in training"
    known = next((row.model.frequencies for row in rows if row.model.frequencies is not None), None)
    if known is None:
        return Skipped(title, "no model directory holds the frequencies of its training text")
    groups = np.searchsorted(FREQUENCIES, known[rows[0].targets], side="right") - 1
    ends = [*(start - 1 for start in FREQUENCIES[1:]), None]
    labels = [_span(start, end) for start, end in zip(FREQUENCIES, ends, strict=True)]
    return _broken(title, labels, groups, rows)


def by_context(rows: Sequence[Evaluation], corpus: Corpus) -> Breakdown | Skipped:
    """By how many of the tokens before it were seen together in training, as a counting model among the rows knows."""
    title = "by longest context seen in training"
    found = max((c for row in rows for c in _counting(row.model.model)), key=lambda m: m.context, default=None)
    if found is None:
        return Skipped(title, "no n-gram model of words is compared, and only one knows which contexts occur")
    windows = corpus.windows(found.context, rows[0].first if corpus.boundary is None else None)
    chunks = [found.seen(windows.slice(i, i + _CHUNK)[0]) for i in range(0, len(windows), _CHUNK)]
    lengths = np.concatenate([chunk for chunk in chunks if chunk is not None])
    lengths = lengths if rows[0].places is None else lengths[rows[0].places]
    labels = [f"{j} tokens" if j != 1 else "1 token" for j in range(found.context + 1)]
    return _broken(title, labels, lengths, rows)


def by_file(rows: Sequence[Evaluation], documents: Documents | None) -> Breakdown | Skipped:
    """By file, where the text is a stream of several."""
    title = "by file"
    first, n = rows[0].first, rows[0].tokens
    scored = documents.within(first, first + n) if documents is not None else None
    if scored is None or len(scored.names) < 2:
        return Skipped(title, "the text is not a stream of several files")
    groups = np.searchsorted(scored.starts, np.arange(n), side="right") - 1
    return _broken(title, [_short(name) for name in scored.names], groups, rows)


def strengths(rows: Sequence[Evaluation]) -> list[list[Strength]]:
    """For each model the tokens on whose occurrences together it gains most over the best of the others, [M][≤ 10]."""
    V = rows[0].model.model.vocab_size
    totals = np.stack([np.bincount(row.targets, row.losses, minlength=V) for row in rows])
    counts = np.bincount(rows[0].targets, minlength=V)
    out: list[list[Strength]] = []
    for k in range(len(rows)):
        others = np.delete(totals, k, axis=0)
        with np.errstate(invalid="ignore"):
            gain = others.min(axis=0) - totals[k] if len(others) else np.zeros(V)
        gain[np.isnan(gain)] = 0.0  # where all give it no probability
        top = np.argsort(-gain, kind="stable")[:SHOWN]
        out.append([Strength(rows[k].model.symbol(int(t)), int(counts[t]), float(gain[t])) for t in top if gain[t] > 0])
    return out


def _broken(title: str, labels: list[str], groups: NDArray[np.int64], rows: Sequence[Evaluation]) -> Breakdown:
    """Means by group; groups without tokens are left out."""
    tokens = np.bincount(groups, minlength=len(labels))
    kept = np.flatnonzero(tokens)
    nats = [np.bincount(groups, row.losses, minlength=len(labels))[kept] / tokens[kept] for row in rows]
    return Breakdown(title, [labels[g] for g in kept], tokens[kept].tolist(), [means.tolist() for means in nats])


def _counting(model: LanguageModel) -> list[LanguageModel]:
    """The models that keep count of contexts: this one, or those it is made of."""
    inside = [found for part in model.parts for found in _counting(part)]
    knows = model.context > 0 and model.seen(np.empty((0, model.context), np.int64)) is not None
    return [model, *inside] if knows else inside


def _span(start: int, end: int | None) -> str:
    if end is None:
        return f"{start} and more"
    return str(start) if end == start else f"{start}–{end}"


def _short(name: str) -> str:
    """A file's name without its folders; of a zip file's member, the member."""
    return name.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
