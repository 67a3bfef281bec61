"""Which training windows pull a word towards others: the gradient at its row of C, window by window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.serving.explorer.snapshot import Snapshot
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
    """∂ℓ/∂C[token] of each window, [N, m]: the blocks of ∂x where it stands, added up.

    ∂x = Hᵀδ + Wᵀ(p − e_w), δ = Uᵀ(p − e_w) ⊙ f′(z); one hidden layer or none.
    """
    w = shot.weights
    x_BX = w["emb.weight"][contexts].reshape(len(contexts), -1)
    g_BV = np.exp(shot.log_probs(contexts))
    g_BV[np.arange(len(targets)), targets] -= 1.0  # p − e_w
    g_BX = np.zeros_like(x_BX)
    if "hidden.weight" in w:
        activation = shot.network.activation
        z_BH = w["hidden.bias"] + x_BX @ w["hidden.weight"].T
        delta_BH = (g_BV @ w["out.weight"]) * activation.slope(z_BH, activation.f(z_BH))
        g_BX += delta_BH @ w["hidden.weight"]
    if "direct.weight" in w:
        g_BX += g_BV @ w["direct.weight"]
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
