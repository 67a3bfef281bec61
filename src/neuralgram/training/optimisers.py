"""How a gradient becomes an update.

The parameters come in groups (`NPLM.param_groups`): weights with their decay λ, biases with none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from neuralgram.errors import InputError
from neuralgram.training.sparse import Adagrad, SparseSGD

Groups = list[dict[str, Any]]


def sgd(of: Groups, *, lr: float, momentum: float, betas: tuple[float, float]) -> torch.optim.Optimizer:
    """g ← g + λp; v ← μv + g (v_0 = 0); p ← p − lr·v."""
    return torch.optim.SGD(of, lr=lr, momentum=momentum, fused=True)


def adamw(of: Groups, *, lr: float, momentum: float, betas: tuple[float, float]) -> torch.optim.Optimizer:
    """Adam with decoupled decay, p ← p − lr·(m̂/(√v̂ + 10⁻⁸) + λp); Loshchilov & Hutter (2019)."""
    return torch.optim.AdamW(of, lr=lr, betas=betas, eps=1e-8, fused=True)


def sparse_sgd(of: Groups, *, lr: float, momentum: float, betas: tuple[float, float]) -> torch.optim.Optimizer:
    """SGD that touches only the rows used; see `sparse.py`."""
    if momentum:
        raise InputError(f"momentum {momentum} with sparse-sgd: a velocity moves every row; expected 0, or sgd")
    return SparseSGD(of, lr)


def adagrad(of: Groups, *, lr: float, momentum: float, betas: tuple[float, float]) -> torch.optim.Optimizer:
    """Adagrad that touches only the rows used; see `sparse.py`."""
    return Adagrad(of, lr)


OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": sgd,
    "adamw": adamw,
    "sparse-sgd": sparse_sgd,
    "adagrad": adagrad,
}


def clip_gradients(gradients: list[Tensor], bound: float) -> None:
    """Scale all gradients by min(1, bound/‖g‖), ‖g‖ the norm of all of them as one vector."""
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, (bound / norm).clamp(max=1.0))
