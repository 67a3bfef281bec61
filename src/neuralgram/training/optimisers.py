"""How a gradient becomes an update.

The parameters come in groups (`NPLM.param_groups`): weights with their decay λ, biases with none. The dense
optimisers call PyTorch's fused kernels themselves: `torch.optim` would do the same, and first import a compiler
that takes longer than a small model takes to train.

The others touch only the rows a batch used, so that an update of a table of V rows does not cost V. Their decay falls
on every row at every step all the same. A row nobody reads only shrinks, by Π (1 − ε_s λ) over the steps it missed; it
is multiplied by that when it is next read, before the read, so that every loss and every gradient is what dense steps
would give. `settle` catches all rows up, for whoever reads the whole table.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from neuralgram.errors import InputError
from neuralgram.neural.rows import row_gradients
from neuralgram.training.config import TrainConfig

Groups = list[dict[str, Any]]

_EPSILON = 1e-10  # of Adagrad


class Optimiser(ABC):
    """What the loop asks of an optimiser; it is used as a `torch.optim.Optimizer` is.

    `param_groups` hold params, lr and weight_decay; `state[p]` the tensors that go with p, a checkpoint's business.
    """

    def __init__(self, groups: Groups, config: TrainConfig) -> None:
        self.param_groups: Groups = [{"lr": config.lr, "weight_decay": 0.0, **group} for group in groups]
        self.state: dict[Tensor, dict[str, Tensor]] = {}

    @abstractmethod
    def step(self) -> None:
        """One update of every parameter that has a gradient."""

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    def reading(self) -> AbstractContextManager[None]:
        """The context a loss is computed in."""
        return nullcontext()

    def settle(self) -> None:  # noqa: B027  # most postpone nothing
        """Finish what was postponed, before the weights are read as a whole."""


class Dense(Optimiser):
    """Whole tensors are updated at once."""

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
        super().__init__(groups, config)
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
        super().__init__(groups, config)
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


class RowOptimizer(Optimiser):
    """Updates rows from row-sparse gradients, whole tensors from dense ones.

    `state[p]` holds `total`, the log of all decay so far, and `decayed` [V], how much of it each row has had
    (only where p decays and its gradients are sparse); both are part of a checkpoint.
    """

    def reading(self) -> AbstractContextManager[None]:
        """Inside, gradients are row-sparse, and a row has the decay it missed before it is read."""
        return row_gradients(self.before_reading)

    @abstractmethod
    def change(self, p: Tensor, rows: Tensor | None, grad: Tensor) -> tuple[Tensor, Tensor]:
        """The change of rows `rows` (None: all) per unit of learning rate, as (rows, change); may repeat rows."""

    @torch.no_grad()
    def step(self) -> None:
        """One update of every parameter that has a gradient; it uses row-sparse gradients up."""
        for group in self.param_groups:
            lr, kept = group["lr"], 1.0 - group["lr"] * group["weight_decay"]
            if kept <= 0:
                raise InputError(f"learning rate {lr} × weight decay {group['weight_decay']}: expected below 1")
            for p in group["params"]:
                if p.grad is not None and p.grad.is_sparse:
                    self._step_rows(p, lr, kept)
                elif p.grad is not None:
                    self._settle(p)
                    p.mul_(kept).sub_(self.change(p, None, p.grad)[1], alpha=lr)

    def _step_rows(self, p: Tensor, lr: float, kept: float) -> None:
        """The rows change now; their decay of this step comes when they are next read, so it is undone here."""
        assert p.grad is not None  # the caller looked
        rows_N, change_N = self.change(p, p.grad._indices()[0], p.grad._values())
        _add_rows(p, rows_N, change_N.mul_(-lr / kept))
        if kept < 1:
            state = self.state.setdefault(p, {})
            if "total" not in state:
                state["total"] = torch.zeros((), dtype=torch.float64)
                state["decayed"] = torch.zeros(len(p), dtype=torch.float64, device=p.device)
            state["total"] += math.log(kept)

    @torch.no_grad()
    def before_reading(self, table: Tensor, rows_N: Tensor) -> None:
        """Give rows about to be read the decay of the steps they missed; repeats are written alike."""
        state = self.state.get(table)
        if not state or "total" not in state:
            return
        total = state["total"].item()
        missed_N = (total - state["decayed"].index_select(0, rows_N)).exp_().to(table.dtype)
        data = table.detach()
        data.index_copy_(0, rows_N, data.index_select(0, rows_N) * _columns(missed_N, table))
        state["decayed"].index_fill_(0, rows_N, total)

    @torch.no_grad()
    def settle(self) -> None:
        """Give every row the decay it missed."""
        for group in self.param_groups:
            for p in group["params"]:
                self._settle(p)

    def _settle(self, p: Tensor) -> None:
        state = self.state.get(p)
        if state and "total" in state:
            total = state["total"].item()
            p.mul_(_columns((total - state["decayed"]).exp_().to(p.dtype), p))
            state["decayed"].fill_(total)


class SparseSGD(RowOptimizer):
    """p ← (1 − ε_t λ) p − ε_t g, as dense SGD without momentum; a row's repeats need not be summed first."""

    def __init__(self, groups: Groups, config: TrainConfig) -> None:
        super().__init__(groups, config)
        if config.momentum:
            raise InputError(
                f"momentum {config.momentum} with sparse-sgd: a velocity moves every row; expected 0, or sgd"
            )

    def change(self, p: Tensor, rows: Tensor | None, grad: Tensor) -> tuple[Tensor, Tensor]:
        """g itself."""
        return (grad if rows is None else rows), grad


class Adagrad(RowOptimizer):
    """G ← G + g²;  p ← (1 − ε_t λ) p − ε_t g/(√G + 10⁻¹⁰); Duchi, Hazan & Singer (2011).

    G is in `state[p]["sum"]`; a row's repeats in the batch are summed into g first. The decay is decoupled from the
    gradient: coupled, a row that is never read would still change G.
    """

    def change(self, p: Tensor, rows: Tensor | None, grad: Tensor) -> tuple[Tensor, Tensor]:
        """g/(√G + 10⁻¹⁰) of the rows, each once."""
        state = self.state.setdefault(p, {})
        if "sum" not in state:
            state["sum"] = torch.zeros_like(p)
        squares = state["sum"]
        if rows is None:
            squares.addcmul_(grad, grad)
            return grad, grad / squares.sqrt().add_(_EPSILON)
        rows, grad = sum_repeats(rows, grad)
        squares_N = squares.index_select(0, rows).addcmul_(grad, grad)
        squares.index_copy_(0, rows, squares_N)
        return rows, grad / squares_N.sqrt_().add_(_EPSILON)


def sum_repeats(rows_N: Tensor, values_N: Tensor) -> tuple[Tensor, Tensor]:
    """Each row once, rising, with the sum of its values."""
    if not len(rows_N):
        return rows_N, values_N
    sorted_N, order_N = rows_N.sort(stable=True)
    first_N = torch.ones_like(sorted_N, dtype=torch.bool)
    torch.ne(sorted_N[1:], sorted_N[:-1], out=first_N[1:])
    starts_M = first_N.nonzero()[:, 0]
    # Sums of runs of rows: the library's fastest way to add rows up, five times as fast as scattering them.
    sums_M = F.embedding_bag(order_N, values_N.reshape(len(values_N), -1), starts_M, mode="sum")
    return sorted_N[starts_M], sums_M.view(-1, *values_N.shape[1:])


def gradient_values(p: Tensor) -> Tensor:
    """The numbers of p.grad for its norm: a sparse gradient's rows are summed first, each once, in place."""
    grad = p.grad
    assert grad is not None  # the caller looked
    if not grad.is_sparse:
        return grad
    rows, values = sum_repeats(grad._indices()[0], grad._values())
    p.grad = torch.sparse_coo_tensor(rows[None], values, grad.shape, check_invariants=False)
    return p.grad._values()


def _add_rows(table: Tensor, rows_N: Tensor, values_N: Tensor) -> None:
    """table[rows] += values, repeats adding up; in a fixed order on any number of threads."""
    index = rows_N if values_N.ndim == 1 else rows_N[:, None].expand(values_N.shape)  # expanded: PyTorch's fast path
    table.scatter_add_(0, index, values_N)


def _columns(values_N: Tensor, like: Tensor) -> Tensor:
    return values_N.view(-1, *[1] * (like.ndim - 1))


def clip_gradients(gradients: list[Tensor], bound: float) -> None:
    """Scale all gradients by min(1, bound/‖g‖), ‖g‖ the norm of all of them as one vector."""
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, (bound / norm).clamp(max=1.0))
