"""The same model in NumPy, its gradients derived by hand: what `NPLM` is held against.

One example with target w, a = tanh(b1 + W1^T x) and logits y = b2 + W3^T x + W2^T a:

    ∂ℓ/∂y = p − e_w        ∂ℓ/∂W2 = a (p − e_w)^T      ∂ℓ/∂W3 = x (p − e_w)^T      ∂ℓ/∂b2 = p − e_w
    ∂ℓ/∂a = W2 (p − e_w)   δ = ∂ℓ/∂a ⊙ (1 − a²)        ∂ℓ/∂W1 = x δ^T              ∂ℓ/∂b1 = δ
    ∂ℓ/∂x = W1 δ + W3 (p − e_w), and row E[w_j] receives block j of it, added up where a word repeats.

Parameters P: E [V, d], W1 [(n−1)d, h], b1 [h], W2 [h, V], b2 [V], W3 [(n−1)d, V] or None. In the paper's letters
E = C, W1 = H^T, b1 = d, W2 = U^T, b2 = b, W3 = W^T. Everything is computed in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class _Forward(NamedTuple):
    ids: NDArray[np.int64]  # [B, n − 1]
    x: Array  # [B, (n − 1)d]
    a: Array  # [B, h]
    y: Array  # [B, V]


def nplm_params(V: int, d: int, n: int, dh: int, direct: bool) -> int:
    """Free parameters of the model of order `n` (context n − 1).

    >>> nplm_params(16383, 30, 5, 100, False)
    2158273
    """
    x = (n - 1) * d
    return V * d + (x * dh + dh) + (dh * V + V) + (x * V if direct else 0)


def nplm_loss(P: Mapping[str, Any], X: ArrayLike, Y: ArrayLike) -> tuple[float, Array]:
    """Mean cross-entropy in nats of targets Y [B] after contexts X [B, n − 1], oldest first, and logits [B, V]."""
    y = _forward(P, X).y
    rows, targets = np.arange(len(y)), np.asarray(Y, np.int64)
    highest = y.max(axis=1)
    log_sum = highest + np.log(np.exp(y - highest[:, None]).sum(axis=1))
    return float(np.mean(log_sum - y[rows, targets])), y


def nplm_grads(P: Mapping[str, Any], X: ArrayLike, Y: ArrayLike) -> dict[str, Array]:
    """Gradients of `nplm_loss` by parameter name, averaged over the batch; W3 only where P has it."""
    ids, x, a, y = _forward(P, X)
    E, W1, W2 = (np.asarray(P[name], np.float64) for name in ("E", "W1", "W2"))
    W3 = None if P.get("W3") is None else np.asarray(P["W3"], np.float64)
    g_y = np.exp(y - y.max(axis=1, keepdims=True))
    g_y /= g_y.sum(axis=1, keepdims=True)
    g_y[np.arange(len(y)), np.asarray(Y, np.int64)] -= 1.0
    g_y /= len(y)  # p − e_w, averaged
    delta = (g_y @ W2.T) * (1.0 - a * a)
    g_x = delta @ W1.T
    if W3 is not None:
        g_x += g_y @ W3.T
    g_E = np.zeros_like(E)
    np.add.at(g_E, ids.ravel(), g_x.reshape(ids.size, -1))  # repeated words accumulate
    grads = {"E": g_E, "W1": x.T @ delta, "b1": delta.sum(axis=0), "W2": a.T @ g_y, "b2": g_y.sum(axis=0)}
    return grads if W3 is None else {**grads, "W3": x.T @ g_y}


def _forward(P: Mapping[str, Any], X: ArrayLike) -> _Forward:
    ids = np.asarray(X, np.int64)
    E, W1, b1, W2, b2 = (np.asarray(P[name], np.float64) for name in ("E", "W1", "b1", "W2", "b2"))
    x = E[ids].reshape(len(ids), -1)  # oldest first
    a = np.tanh(b1 + x @ W1)
    y = b2 + a @ W2
    if P.get("W3") is not None:
        y = y + x @ np.asarray(P["W3"], np.float64)
    return _Forward(ids, x, a, y)
