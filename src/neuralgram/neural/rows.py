"""Reading rows of a table of vectors, and the first layer of what was read.

A few rows of a large table are read with gradients as sparse as the reading.

Outside `row_gradients` a row's gradient arrives in a dense table, as any optimiser expects it. Inside,
it arrives as a sparse tensor of the rows read (repeats not yet summed), so that no work grows with V, and
whoever opened it is told which rows are about to be read: an optimiser that postpones the decay of rows
nobody reads catches it up then.

A small table, as of characters, is read many times a row; then d + H x comes from a table of products:

    H x = Σ_j H_j C[w_j],  H_j = the m columns of position j

T[j, v] = H_j C[v] holds every product there is, c·V rows of h numbers, and a window's sum is c rows of it.
The result is the same up to rounding; the gradients reach C and H through the table. A row's gradient is the
sum over the windows that read it, so with the reads sorted by row it is such a sum again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Reader: TypeAlias = Callable[[Tensor, Tensor], None]  # told (table, row numbers [N]) before the rows are read

_WINDOWS_PER_SYMBOL = 4  # measured: from here on the table costs less than the plain product,
_LEAST_D_EMB = 24  # provided that a product is long enough to be worth replacing by an addition

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


def table_pays(ids_Bc: Tensor, table: Tensor) -> bool:
    """Whether the table of products is the cheaper way for windows `ids_Bc` of the embedding `table` [V, m]."""
    vocab_size, d_emb = table.shape
    many = len(ids_Bc) >= _WINDOWS_PER_SYMBOL * vocab_size
    return many and d_emb >= _LEAST_D_EMB and table.device.type == "cpu" and not row_sparse()


def first_layer_by_table(ids_Bc: Tensor, C_Vm: Tensor, H_hX: Tensor, d_h: Tensor) -> Tensor:
    """d + H x [B, h] of the windows `ids_Bc`."""
    (V, m), (h, X) = C_Vm.shape, H_hX.shape
    c = X // m
    products_Vhc = (C_Vm @ H_hX.view(h * c, m).t()).view(V, h, c)  # one product: the rows of H hold c blocks of m
    T_jVh = products_Vhc.permute(2, 0, 1).reshape(c * V, h)
    rows_Bc = ids_Bc + torch.arange(0, c * V, V, device=ids_Bc.device)
    sum_Bh: Tensor = _SumOfRows.apply(rows_Bc, T_jVh)  # type: ignore[no-untyped-call]
    return sum_Bh + d_h


class _SumOfRows(torch.autograd.Function):
    """Σ_j T[rows_bj] [B, h]. The library's own gradient of it sorts pairs and adds rows one by one: 1.3 to 4 times
    the cost, the more so the larger the batch."""

    @staticmethod
    def forward(ctx: Any, rows_Bc: Tensor, T_Rh: Tensor) -> Tensor:
        ctx.save_for_backward(rows_Bc)
        ctx.rows = len(T_Rh)
        return F.embedding_bag(rows_Bc, T_Rh, mode="sum")

    @staticmethod
    def backward(ctx: Any, grad_Bh: Tensor) -> tuple[None, Tensor]:
        (rows_Bc,) = ctx.saved_tensors
        rows = rows_Bc.flatten().numpy()
        if ctx.rows <= 1 << 16:
            rows = rows.astype(np.uint16)  # numbers of two bytes are sorted by counting
        window = np.argsort(rows, kind="stable") // rows_Bc.shape[1]
        start = np.zeros(ctx.rows, np.int64)
        np.cumsum(np.bincount(rows, minlength=ctx.rows)[:-1], out=start[1:])
        return None, F.embedding_bag(torch.from_numpy(window), grad_Bh, torch.from_numpy(start), mode="sum")
