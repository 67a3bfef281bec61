"""Reading a few rows of a large table, with gradients as sparse as the reading.

Outside `row_gradients` a row's gradient arrives in a dense table, as any optimiser expects it. Inside,
it arrives as a sparse tensor of the rows read (repeats not yet summed), so that no work grows with V, and
whoever opened it is told which rows are about to be read: an optimiser that postpones the decay of rows
nobody reads catches it up then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

Reader: TypeAlias = Callable[[Tensor, Tensor], None]  # told (table, row numbers [N]) before the rows are read

_READER: ContextVar[Reader | None] = ContextVar("_READER", default=None)


@contextmanager
def row_gradients(before_reading: Reader) -> Iterator[None]:
    """Inside, `take` gives row-sparse gradients and calls `before_reading(table, rows)` first."""
    token = _READER.set(before_reading)
    try:
        yield
    finally:
        _READER.reset(token)


def row_sparse() -> bool:
    """Whether this is inside `row_gradients`, where whole tables must not be read."""
    return _READER.get() is not None


def take(table: Tensor, rows: Tensor) -> Tensor:
    """table[rows], [*rows.shape, …] of a `table` [V, …], with gradients."""
    reader = _READER.get()
    if reader is not None and torch.is_grad_enabled() and table.requires_grad:
        flat_N = rows.flatten()
        reader(table, flat_N)
        taken: Tensor = _Take.apply(table, flat_N)  # type: ignore[no-untyped-call]
        return taken.view(*rows.shape, *table.shape[1:])
    if table.ndim == 2:
        return F.embedding(rows, table)
    return table.index_select(0, rows.flatten()).view(*rows.shape, *table.shape[1:])


class _Take(torch.autograd.Function):
    """Rows whose gradient is a sparse tensor [V, …] of the rows read."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows_N: Tensor) -> Tensor:
        ctx.save_for_backward(rows_N)
        ctx.shape = table.shape
        return table.index_select(0, rows_N)

    @staticmethod
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor, None]:
        (rows_N,) = ctx.saved_tensors
        return torch.sparse_coo_tensor(rows_N[None], grad_N, ctx.shape, check_invariants=False), None
