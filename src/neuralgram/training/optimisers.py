"""How a gradient becomes an update.

The parameters come in groups (`NPLM.param_groups`): weights with their decay λ, biases with none. The two dense
optimisers call PyTorch's fused kernels themselves: `torch.optim` would do the same, and first import a compiler
that takes longer than a small model takes to train.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from neuralgram.errors import InputError
from neuralgram.training.config import TrainConfig
from neuralgram.training.sparse import Adagrad, SparseSGD

Groups = list[dict[str, Any]]


class Dense(ABC):
    """Whole tensors are updated at once; it is used as a `torch.optim.Optimizer` is.

    `param_groups` hold params, lr and weight_decay; `state[p]` the tensors that go with p, a checkpoint's business.
    """

    def __init__(self, groups: Groups, lr: float) -> None:
        self.param_groups = [{"lr": lr, **group} for group in groups]
        self.state: dict[Tensor, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self) -> None:
        """One update of every parameter that has a gradient."""
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            for p in params:
                if p not in self.state:
                    self.state[p] = self.fresh(p)
            if params:
                states = [self.state[p] for p in params]
                self.update(params, [p.grad for p in params], states, group["lr"], group["weight_decay"])

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    @abstractmethod
    def fresh(self, p: Tensor) -> dict[str, Tensor]:
        """The state of `p` before its first update."""

    @abstractmethod
    def update(
        self, params: list[Tensor], grads: list[Tensor], states: list[dict[str, Tensor]], lr: float, decay: float
    ) -> None:
        """Change `params`, and their states, in place."""


class SGD(Dense):
    """g ← g + λp; v ← μv + g, v_0 = 0; p ← p − lr·v."""

    def __init__(self, groups: Groups, config: TrainConfig) -> None:
        super().__init__(groups, config.lr)
        self.momentum = config.momentum

    def fresh(self, p: Tensor) -> dict[str, Tensor]:
        """v, where there is momentum."""
        return {"momentum_buffer": torch.zeros_like(p)} if self.momentum else {}

    def update(
        self, params: list[Tensor], grads: list[Tensor], states: list[dict[str, Tensor]], lr: float, decay: float
    ) -> None:
        """The equations above, one pass over memory."""
        torch._fused_sgd_(
            params,
            grads,
            [state["momentum_buffer"] for state in states] if self.momentum else [],
            weight_decay=decay,
            momentum=self.momentum,
            lr=lr,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )


class AdamW(Dense):
    """Adam with decoupled decay; Loshchilov & Hutter (2019).

    m ← β₁m + (1 − β₁)g;  v ← β₂v + (1 − β₂)g²;  p ← p − lr·(m̂/(√v̂ + ε) + λp),
    with m̂ = m/(1 − β₁^t), v̂ = v/(1 − β₂^t).
    """

    def __init__(self, groups: Groups, config: TrainConfig) -> None:
        super().__init__(groups, config.lr)
        self.betas, self.epsilon = config.betas, config.epsilon

    def fresh(self, p: Tensor) -> dict[str, Tensor]:
        """t, m and v."""
        step = torch.zeros((), dtype=torch.float32, device=p.device)
        return {"step": step, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}

    def update(
        self, params: list[Tensor], grads: list[Tensor], states: list[dict[str, Tensor]], lr: float, decay: float
    ) -> None:
        """The equations above, one pass over memory."""
        steps = [state["step"] for state in states]
        torch._foreach_add_(steps, 1.0)
        torch._fused_adamw_(
            params,
            grads,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            steps,
            lr=lr,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=decay,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )


def sparse_sgd(groups: Groups, config: TrainConfig) -> SparseSGD:
    """SGD that touches only the rows used; see `sparse.py`."""
    if config.momentum:
        raise InputError(f"momentum {config.momentum} with sparse-sgd: a velocity moves every row; expected 0, or sgd")
    return SparseSGD(groups, config.lr)


def adagrad(groups: Groups, config: TrainConfig) -> Adagrad:
    """Adagrad that touches only the rows used; see `sparse.py`."""
    return Adagrad(groups, config.lr)


OPTIMISERS: dict[str, Callable[[Groups, TrainConfig], Any]] = {
    "sgd": SGD,
    "adamw": AdamW,
    "sparse-sgd": sparse_sgd,
    "adagrad": adagrad,
}


def clip_gradients(gradients: list[Tensor], bound: float) -> None:
    """Scale all gradients by min(1, bound/‖g‖), ‖g‖ the norm of all of them as one vector."""
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, (bound / norm).clamp(max=1.0))
