"""Why the network generalises: the animals, a 4-gram beside the network, and what pulled the sheep where it is.

What pulls a word towards others is the gradient at its row of C, training window by training window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.ngram.relative_frequency import LongestMatch
from neuralgram.serving.explorer.snapshot import Snapshot
from neuralgram.serving.explorer.texts import Ready
from neuralgram.serving.explorer.vectors import principal_axes, procrustes
from neuralgram.text.samples import GRAZERS, HUNTERS
from neuralgram.text.windows import Corpus

Floats = NDArray[np.float64]


class Windows(NamedTuple):
    """The different windows that hold a word: contexts [N, c], targets [N], how often each occurs [N]."""

    contexts: NDArray[np.int64]
    targets: NDArray[np.int64]
    counts: NDArray[np.int64]
    of: int  # windows of the corpus in all


def windows_with(corpus: Corpus, context: int, token: int) -> Windows:
    """Every different training window with `token` among the words read."""
    windows = corpus.windows(context)
    contexts, targets = windows.slice(0, len(windows))
    holds = (contexts == token).any(axis=1)
    rows, counts = np.unique(np.column_stack([contexts[holds], targets[holds]]), axis=0, return_counts=True)
    return Windows(rows[:, :-1], rows[:, -1], counts, len(windows))


def row_gradients(shot: Snapshot, contexts: NDArray[np.int64], targets: NDArray[np.int64], token: int) -> Floats:
    """∂ℓ/∂C[token] of each window, [N, m]: the blocks of ∂x where it stands, added up."""
    network = shot.network()
    g_BX = network.backward(network.forward(contexts), targets).x * len(contexts)  # of each, not of the mean
    blocks = g_BX.reshape(*contexts.shape, -1)
    return np.asarray((blocks * (contexts == token)[:, :, None]).sum(axis=1), np.float64)


def steps(shot: Snapshot, found: Windows, token: int) -> Floats:
    """How gradient descent on each kind of window moves `token`: −∂ℓ/∂C[token] times its share of the text, [N, m]."""
    gradients = row_gradients(shot, found.contexts, found.targets, token)
    return np.asarray(-gradients * (found.counts / found.of)[:, None], np.float64)


def along(vectors: Floats, direction: Floats) -> Floats:
    """The part of each vector [N, m] that leads in `direction` [m]; 0 where there is no direction."""
    length = float(np.linalg.norm(direction))
    return vectors @ direction / length if length > 0 else np.zeros(len(vectors))


def alike(shot: Snapshot, found: Windows, token: int, other: int) -> Floats:
    """Cosine, for each window, of what it asks of `token` and what it would ask of `other` in its place, [N]."""
    mine = row_gradients(shot, found.contexts, found.targets, token)
    swapped = np.where(found.contexts == token, other, found.contexts)
    theirs = row_gradients(shot, swapped, found.targets, other)
    lengths = np.linalg.norm(mine, axis=1) * np.linalg.norm(theirs, axis=1)
    return np.asarray((mine * theirs).sum(axis=1) / np.where(lengths > 0, lengths, 1.0), np.float64)


SHEEP = "sheep"
ANIMALS = (*HUNTERS, *GRAZERS)
LIKE = tuple(name for name in GRAZERS if name != SHEEP)  # cow and goat


class Bars(NamedTuple):
    """One word's probability under the n-gram and under the network."""

    word: str
    counting: float
    network: float


class Distances(NamedTuple):
    """How far the sheep's vector is from the animals, after `step` updates: means over cow and goat, over hunters."""

    step: int
    grazers: float
    hunters: float


class Pull(NamedTuple):
    """One kind of training window with the sheep in it: how often it occurs, and how it moves the sheep's vector.

    so_far   along the way the vector has come, summed over the updates
    now      towards the middle of cow and goat, in the next update
    cow      how alike, from −1 to 1, is what the window would ask of a cow in the sheep's place
    """

    window: str
    times: int
    so_far: float
    now: float
    cow: float


class Way(NamedTuple):
    """The animals' places in a plane, and the places [N, 2] the sheep has been."""

    places: dict[str, tuple[float, float]]
    path: NDArray[np.float64]


class Animals:
    """The animals' page over a text that has them. `prompt` is what both models read."""

    def __init__(self, ready: Ready, context: int, d_emb: int) -> None:
        self.ready = ready
        self.context = context
        self.counting = LongestMatch.fit(ready.train, 4)
        self.sheep = self._id(SHEEP)
        self.distances: list[Distances] = []
        self._followed: list[Snapshot] = []
        self._places: NDArray[np.float64] | None = None
        self._windows = windows_with(ready.train, context, self.sheep)
        self._total = np.zeros((len(self._windows.targets), d_emb))

    def _id(self, name: str) -> int:
        return int(self.ready.tokenizer.encode(name)[0])

    def bars(self, shot: Snapshot, animal: str) -> list[Bars]:
        """After "the … ate the", every word that either model gives 2% or more, the network's likeliest first."""
        words = [int(i) for i in self.ready.tokenizer.encode(f"the {animal} ate the")]
        counting = np.exp(self.counting.log_probs([words[-self.counting.context :]])[0])
        network = np.exp(shot.log_probs([self._window(words)])[0])
        kept = [int(i) for i in np.argsort(-network, kind="stable") if counting[i] >= 0.02 or network[i] >= 0.02]
        return [Bars(self.ready.tokenizer.symbol(i), float(counting[i]), float(network[i])) for i in kept]

    def used(self, animal: str) -> str:
        """The longest end of "… ate the" that the n-gram has seen."""
        words = [int(i) for i in self.ready.tokenizer.encode(f"the {animal} ate the")]
        ids = self.ready.train.ids
        for length in range(self.counting.context, 0, -1):
            end = np.array(words[-length:])
            view = np.lib.stride_tricks.sliding_window_view(ids, length)
            if (view == end).all(axis=1).any():
                return " ".join(self.ready.tokenizer.symbol(i) for i in end.tolist())
        return ""

    def _window(self, words: list[int]) -> NDArray[np.int64]:
        full = self.ready.tokenizer.encode(". " * self.context)[: self.context]
        return np.concatenate([full.astype(np.int64), np.array(words, np.int64)])[-self.context :]

    def goal(self, shot: Snapshot) -> NDArray[np.float64]:
        """The middle of the cow and the goat."""
        return np.asarray(shot.embeddings[[self._id(name) for name in LIKE]].mean(axis=0), np.float64)

    def follow(self, shots: Sequence[Snapshot]) -> None:
        """Take note of a run's moments so far: distances, and what pulled between one and the next."""
        known = len(self._followed)
        if len(shots) < known or any(a is not b for a, b in zip(self._followed, shots, strict=False)):
            known = 0
            self.distances, self._followed = [], []
            self._total = np.zeros_like(self._total)
        for i in range(known, len(shots)):
            self.distances.append(self._distances(shots[i]))
            self._followed.append(shots[i])
            if i:
                updates = shots[i].step - shots[i - 1].step
                self._total += steps(shots[i - 1], self._windows, self.sheep) * updates

    def _distances(self, shot: Snapshot) -> Distances:
        C, sheep = shot.embeddings, shot.embeddings[self.sheep]
        means = [float(np.mean([np.linalg.norm(C[self._id(n)] - sheep) for n in names])) for names in (LIKE, HUNTERS)]
        return Distances(shot.step, *means)

    def way(self, shots: Sequence[Snapshot]) -> Way:
        """The animals in the plane in which they differ most now, and the sheep's way there in the same plane."""
        C = shots[-1].embeddings
        rows = C[[self._id(name) for name in ANIMALS]]
        middle = rows.mean(axis=0)
        axes = principal_axes(rows - middle)
        xy = (rows - middle) @ axes
        if self._places is not None:
            turn = procrustes(xy, self._places)
            axes, xy = axes @ turn, xy @ turn
        self._places = xy
        path = np.array([shot.embeddings[self.sheep] for shot in shots]) - middle
        places = {name: (float(x), float(y)) for name, (x, y) in zip(ANIMALS, xy, strict=True)}
        return Way(places, path @ axes)

    def pulls(self, shots: Sequence[Snapshot]) -> list[Pull]:
        """Every kind of window that holds the sheep, and how it pulls; what pulled most comes first.

        Summed over the updates followed, along the way the sheep has come; and now, towards cow and goat.
        """
        now, start = shots[-1], shots[0]
        come = now.embeddings[self.sheep] - start.embeddings[self.sheep]
        so_far = along(self._total, come)
        towards = along(steps(now, self._windows, self.sheep), self.goal(now) - now.embeddings[self.sheep])
        cow = alike(now, self._windows, self.sheep, self._id(LIKE[0]))
        w = self._windows
        rows = zip(w.contexts.tolist(), w.targets.tolist(), w.counts.tolist(), so_far, towards, cow, strict=True)
        found = [Pull(self._said(c, t), n, float(a), float(b), float(k)) for c, t, n, a, b, k in rows]
        return sorted(found, key=lambda pull: -abs(pull.so_far))

    def _said(self, context: list[int], target: int) -> str:
        name = self.ready.tokenizer.symbol
        return " ".join(name(i) for i in context) + " → " + name(target)
