"""The worked examples as models, and gradients by differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from neuralgram.neural.nplm import NPLM

# Three tokens a, b, c; context 2, m = 1, h = 1.
LETTERS = {
    "emb.weight": [[1.0], [0.0], [-1.0]],
    "hidden.weight": [[0.5, -0.5]],
    "hidden.bias": [0.0],
    "out.weight": [[1.0], [0.0], [-1.0]],
    "out.bias": [0.0, 0.5, 0.0],
    "direct.weight": [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]],
}

# Five words; context 2, m = 2, h = 2, no direct path.
WORDS = ["the", "cat", "dog", "sat", "ran"]
SENTENCE = {
    "emb.weight": [[0.2, -0.1], [0.8, 0.4], [0.7, 0.5], [-0.3, 0.9], [-0.4, 1.0]],
    "hidden.weight": [[0.5, -0.2, 0.8, 0.1], [-0.4, 0.6, 0.1, 0.9]],
    "hidden.bias": [0.0, 0.0],
    "out.weight": [[-0.4, 0.2], [-0.2, -0.1], [-0.1, -0.2], [1.0, 0.6], [0.6, 0.9]],
    "out.bias": [0.0, 0.0, 0.0, 0.3, 0.1],
}


def letters(direct: bool = True) -> NPLM:
    model = NPLM(3, 2, 1, 1, direct)
    model.load_state_dict({name: rows for name, rows in LETTERS.items() if direct or name != "direct.weight"})
    return model


def sentence() -> NPLM:
    model = NPLM(5, 2, 2, 2, False)
    model.load_state_dict(SENTENCE)
    return model


def noisy(model: NPLM, seed: int = 7) -> NPLM:
    """Every parameter, biases too, random and far from its first value: float64."""
    rng = np.random.default_rng(seed)
    model = model.double()
    for p in model.parameters():
        p.data.copy_(torch.from_numpy(rng.normal(size=p.shape) * 0.6))
    return model


def differences(value: Callable[[], float], p: Tensor, step: float = 1e-6) -> Tensor:
    """Central differences of `value()` in every number of `p`."""
    slopes = torch.zeros_like(p)
    flat, out = p.data.view(-1), slopes.view(-1)
    for i in range(len(flat)):
        kept = flat[i].item()
        flat[i] = kept + step
        above = value()
        flat[i] = kept - step
        below = value()
        flat[i] = kept
        out[i] = (above - below) / (2 * step)
    return slopes
