"""Initial weights: uniform numbers from one PCG32 stream, one layer after another."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from neuralgram.rng import PCG32

_SMALL = 0.1  # standard deviation of a logit's share at the start: the first loss stays within 0.01 of log V


def uniform(rng: PCG32, rows: int, columns: int, bound: float) -> Tensor:
    """float32 [rows, columns], each uniform in (−bound, bound), drawn row by row."""
    draws = torch.from_numpy(rng.uint32s(rows * columns).astype("float32"))
    return draws.mul_(bound / 2**31).sub_(bound).view(rows, columns)


def small(rng: PCG32, rows: int, columns: int) -> Tensor:
    """Output vectors: uniform with standard deviation 0.1/√columns, so that the first guess is near uniform."""
    return uniform(rng, rows, columns, _SMALL * math.sqrt(3 / columns))
