"""The same forward and backward pass for many windows at once, for what `health` measures.

Shapes: B windows, X = c·m, h hidden, F features, V vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.tracing.network import Network
from neuralgram.tracing.steps import Floats


class Batch(NamedTuple):
    """Every layer of B predictions."""

    ids: NDArray[np.int64]  # [B, c]
    x: Floats  # [B, X]
    z: tuple[Floats, ...]  # [B, h] each
    a: tuple[Floats, ...]  # [B, h] each
    g: Floats | None  # [B, h] or [B, m]
    log_p: Floats  # [B, V]


def forward(network: Network, ids: NDArray[np.int64]) -> Batch:
    """log p [B, V] after windows `ids` [B, c], with every layer kept."""
    w = network.weights
    x = w["emb.weight"][ids].reshape(len(ids), -1)
    z: list[Floats] = []
    a: list[Floats] = []
    for name in network.layers:
        z.append(w[f"{name}.bias"] + (a[-1] if a else x) @ w[f"{name}.weight"].T)
        a.append(network.activation.f(z[-1]))
    g = None if not a else a[-1] @ w["project.weight"].T if "project.weight" in w else a[-1]
    if network.whole is not None:
        return Batch(ids, x, tuple(z), tuple(a), g, network.whole.log_probs(w, ids))
    y = np.repeat(w["out.bias"][None, :], len(ids), axis=0)
    if g is not None and network.output is not None:
        y += g @ network.output.T
    if "direct.weight" in w:
        y += x @ w["direct.weight"].T
    y -= y.max(axis=1, keepdims=True)
    return Batch(ids, x, tuple(z), tuple(a), g, y - np.log(np.exp(y).sum(axis=1, keepdims=True)))


def mean_gradients(network: Network, f: Batch, targets: NDArray[np.int64]) -> dict[str, Floats]:
    """The gradient of the mean loss of the batch, by state-dict key."""
    w, count = network.weights, len(targets)
    if network.whole is not None:
        return network.whole.gradients(w, f.ids, targets)[0]
    grads: dict[str, Floats] = {}
    g_y = np.exp(f.log_p)
    g_y[np.arange(count), targets] -= 1.0
    g_y /= count
    g_x = np.zeros_like(f.x)
    g_C = np.zeros_like(w["emb.weight"])
    if "direct.weight" in w:
        grads["direct.weight"] = g_y.T @ f.x
        g_x += g_y @ w["direct.weight"]
    if f.g is not None and network.output is not None:
        if network.tie:
            g_C += g_y.T @ f.g
        else:
            grads["out.weight"] = g_y.T @ f.g
        back = g_y @ network.output
        if "project.weight" in w:
            grads["project.weight"] = back.T @ f.a[-1]
            back = back @ w["project.weight"]
        for i in reversed(range(len(f.a))):
            name = network.layers[i]
            delta = back * network.activation.slope(f.z[i], f.a[i])
            grads[f"{name}.weight"] = delta.T @ (f.a[i - 1] if i else f.x)
            grads[f"{name}.bias"] = delta.sum(axis=0)
            back = delta @ w[f"{name}.weight"]
        g_x += back
    np.add.at(g_C, f.ids.ravel(), g_x.reshape(f.ids.size, -1))
    grads |= {"emb.weight": g_C, "out.bias": g_y.sum(axis=0)}
    return {name: grads[name] for name in w}
