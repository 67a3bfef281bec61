"""Initial weights: uniform numbers from one PCG32 stream, one layer after another; or vectors of elsewhere, by rows."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from neuralgram.errors import InputError
from neuralgram.rng import PCG32
from neuralgram.text.windows import as_ids

_SMALL = 0.1  # standard deviation of a logit's share at the start: the first loss stays within 0.01 of log V


def uniform(rng: PCG32, rows: int, columns: int, bound: float) -> Tensor:
    """float32 [rows, columns], each uniform in (−bound, bound), drawn row by row."""
    draws = torch.from_numpy(rng.uint32s(rows * columns).astype("float32"))
    return draws.mul_(bound / 2**31).sub_(bound).view(rows, columns)


def small(rng: PCG32, rows: int, columns: int) -> Tensor:
    """Output vectors: uniform with standard deviation 0.1/√columns, so that the first guess is near uniform."""
    return uniform(rng, rows, columns, _SMALL * math.sqrt(3 / columns))


@torch.no_grad()
def set_rows(table: nn.Parameter, ids: ArrayLike, vectors: ArrayLike, *, freeze: bool = False) -> None:
    """Set rows `ids` [N] of C, `table` [V, m], to pretrained `vectors` [N, m]; the others stay as they were drawn.

    With `freeze` the whole of C is no longer trained (where output vectors are tied to it, neither are they).
    Raises `InputError` for ids outside the vocabulary or given twice, another width, and numbers that are not finite.
    """
    rows = as_ids(ids, len(table))
    given = np.asarray(vectors, np.float64)
    expected = (len(rows), table.shape[1])
    if rows.ndim != 1 or given.shape != expected:
        raise InputError(f"vectors of shape {list(given.shape)} for {len(rows)} rows: expected {list(expected)}")
    if len(np.unique(rows)) != len(rows):
        raise InputError(
            f"{len(rows)} rows, {len(rows) - len(np.unique(rows))} of them given twice: expected each once"
        )
    if not np.isfinite(given).all():
        raise InputError("vectors with numbers that are infinite or not a number: expected finite ones")
    table[torch.from_numpy(rows).to(table.device)] = torch.from_numpy(given).to(table)
    if freeze:
        table.requires_grad_(False)
