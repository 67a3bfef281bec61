"""The loss of an output layer as others write it: plain eager PyTorch, and PyTorch's own chunked one."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# From features [B, F], output vectors [V, F], biases [V] and targets [B] the mean loss, nats.
Loss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

EAGER = "eager PyTorch"
_CHUNKS = {"in chunks of its own": None, "in chunks of 128": 128, "in chunks of 256": 256}


def eager(f_BF: Tensor, U_VF: Tensor, b_V: Tensor, y_B: Tensor) -> Tensor:
    """What one writes without thinking of speed."""
    return F.cross_entropy(F.linear(f_BF, U_VF, b_V), y_B)


def chunked(rows: int | None) -> Loss:
    """`F.linear_cross_entropy` with so many rows at once; None: as many as it chooses."""
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=rows)

    def loss(f_BF: Tensor, U_VF: Tensor, b_V: Tensor, y_B: Tensor) -> Tensor:
        return F.linear_cross_entropy(f_BF, U_VF, y_B, linear_bias=b_V, options=options)

    return loss


def low(loss: Loss) -> Loss:
    """The same in bfloat16; gradients arrive in float32."""

    def lowered(f_BF: Tensor, U_VF: Tensor, b_V: Tensor, y_B: Tensor) -> Tensor:
        return loss(f_BF.bfloat16(), U_VF.bfloat16(), b_V.bfloat16(), y_B).float()

    return lowered


def chunked_losses(precision: str) -> dict[str, Loss]:
    """By name; none where this PyTorch lacks the function."""
    if not hasattr(F, "linear_cross_entropy") or not hasattr(torch.nn, "LinearCrossEntropyOptions"):
        return {}
    found = {f"`F.linear_cross_entropy` {name}": chunked(rows) for name, rows in _CHUNKS.items()}
    return found if precision == "fp32" else {f"{name}, bf16": low(loss) for name, loss in found.items()}
