"""The contract in float64 NumPy, each fault included: what a student's numbers are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.neural.reference import nplm_grads, nplm_loss
from neuralgram.rng import PCG32
from neuralgram.text.windows import windows

Floats = NDArray[np.float64]
Params = dict[str, Floats]
# The small model and text that every case is asked about.
V, CONTEXT, M, H = 7, 3, 4, 5
SIZES = (  # The small model and text that every case is asked about.
    V,
    CONTEXT,
    M,
    H,
)
IDS = [int(value) % V for value in PCG32(11).uint32s(15)]  # twelve windows, in which words repeat
_NAMES = {"E": "emb.weight", "W1": "hidden.weight", "b1": "hidden.bias", "W2": "out.weight", "b2": "out.bias"}
_TURNED = ("W1", "W2", "W3")


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


def _by_hand(params: Params) -> dict[str, Any]:
    out: dict[str, Any] = {key: params[name].T if key in _TURNED else params[name] for key, name in _NAMES.items()}
    out["W3"] = params["direct.weight"].T if "direct.weight" in params else None
    return out


def logits(params: Params, contexts: Any) -> Floats:
    """y [B, V] after `contexts` [B, c]."""
    ids = np.asarray(contexts, np.int64)
    return nplm_loss(_by_hand(params), ids, np.zeros(len(ids), np.int64))[1]


def losses(params: Params, ids: Any, context: int) -> Floats:
    """−log p of ids[c:], each."""
    contexts, targets = windows(ids, context)
    y = logits(params, contexts)
    top = y.max(axis=1)
    log_sum: Floats = top + np.log(np.exp(y - top[:, None]).sum(axis=1))
    return log_sum - y[np.arange(len(y)), targets]


def grads(params: Params, ids: Any, context: int) -> Params:
    """The gradient of the mean loss over all windows of `ids`, by state-dict key."""
    contexts, targets = windows(ids, context)
    got = nplm_grads(_by_hand(params), contexts, targets)
    names = {**_NAMES, "W3": "direct.weight"}
    return {names[key]: np.asarray(g.T if key in _TURNED else g) for key, g in got.items()}


def nearest_blocks(params: Params, ids: Any, context: int, found: Floats) -> Floats:
    """C's gradient where a row keeps only one of the blocks that reach it: of each row the one nearest to `found`."""
    contexts, targets = windows(ids, context)
    count, m = len(contexts), params["emb.weight"].shape[1]
    by_hand = _by_hand(params)
    places = np.arange(count * context).reshape(count, context)  # every place a word of its own
    blocks = nplm_grads({**by_hand, "E": by_hand["E"][contexts.ravel()]}, places, targets)["E"].reshape(-1, m)
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
