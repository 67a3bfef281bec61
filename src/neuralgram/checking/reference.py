"""The contract in float64 NumPy, each fault included: what a student's numbers are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.neural.reference import Network
from neuralgram.rng import PCG32
from neuralgram.text.windows import windows

Floats = NDArray[np.float64]
Params = dict[str, Floats]

# The small model and text that every case is asked about.
V, CONTEXT, M, H = 7, 3, 4, 5
SIZES = (V, CONTEXT, M, H)
IDS = [int(value) % V for value in PCG32(11).uint32s(15)]  # twelve windows, in which words repeat


def random_params(sizes: tuple[int, int, int, int], direct: bool, seed: int = 5) -> Params:
    """Every parameter uniform in (−1, 1), biases too, so that no term can hide."""
    V, c, m, h = sizes
    shapes = {
        "emb.weight": (V, m),
        "hidden.weight": (h, c * m),
        "hidden.bias": (h,),
        "out.weight": (V, h),
        "out.bias": (V,),
    }
    if direct:
        shapes["direct.weight"] = (V, c * m)
    draws = PCG32(seed)
    return {name: 2 * draws.uniforms(int(np.prod(shape))).reshape(shape) - 1 for name, shape in shapes.items()}


def logits(params: Params, contexts: Any) -> Floats:
    """y [B, V] after `contexts` [B, c]."""
    return Network(params).forward(np.asarray(contexts, np.int64)).y


def losses(params: Params, ids: Any, context: int) -> Floats:
    """−log p of ids[c:], each."""
    contexts, targets = windows(ids, context)
    return Network(params).forward(contexts).loss(targets)


def copied_losses(params: Params, ids: Any, context: int) -> Floats:
    """What they would be of a model that is asked for each window's own last token."""
    contexts = windows(ids, context)[0]
    return Network(params).forward(contexts).loss(contexts[:, -1])


def grads(params: Params, ids: Any, context: int) -> Params:
    """The gradient of the mean loss over all windows of `ids`, by state-dict key."""
    contexts, targets = windows(ids, context)
    network = Network(params)
    return network.backward(network.forward(contexts), targets).parameters


def nearest_blocks(params: Params, ids: Any, context: int, found: Floats) -> Floats:
    """C's gradient where a row keeps only one of the blocks that reach it: of each row the one nearest to `found`."""
    contexts, targets = windows(ids, context)
    network = Network(params)
    blocks = network.backward(network.forward(contexts), targets).x.reshape(contexts.size, -1)
    out = np.zeros_like(found)
    for row in np.unique(contexts):
        reaching = blocks[contexts.ravel() == row]
        out[row] = reaching[int(np.abs(reaching - found[row]).sum(axis=1).argmin())]
    return out


def is_bias(name: str) -> bool:
    """Biases are never decayed."""
    return name.endswith("bias")


def sgd(
    params: Params,
    ids: Any,
    context: int,
    steps: int,
    lr: float,
    *,
    momentum: float = 0.0,
    decay: float = 0.0,
    clip: float | None = None,
    decay_biases: bool = False,
    renew: bool = False,
) -> Params:
    """Updates over one batch of all windows: v ← μv + g, θ ← θ − lr·v; each step is an epoch of its own."""
    now = {name: values.copy() for name, values in params.items()}
    velocity = {name: np.zeros_like(values) for name, values in params.items()}
    for _ in range(steps):
        g = grads(now, ids, context)
        norm = float(np.sqrt(sum(float((part**2).sum()) for part in g.values())))
        scale = 1.0 if clip is None else min(1.0, clip / norm)
        for name, theta in now.items():
            gradient = g[name] * scale
            if decay_biases or not is_bias(name):
                gradient = gradient + decay * theta
            velocity[name] = (0.0 if renew else momentum) * velocity[name] + gradient
        now = {name: now[name] - lr * velocity[name] for name in now}
    return now
