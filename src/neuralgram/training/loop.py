"""The training loop, the only one: `Trainer` makes updates, and whoever wants them asks for more.

    g ← ∂/∂p (1/B) Σ ℓ over the batch of this step;  g ← g·min(1, clip/‖g‖);  p ← optimiser(p, g, ε_t)

Everything random in step t is a function of (seed, t), so the state of a run is its weights, its
optimiser's and average's tensors and t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from neuralgram.errors import DivergedError, InputError
from neuralgram.families import AVERAGES, OPTIMISERS, member
from neuralgram.neural.nplm import NPLM
from neuralgram.rng import PCG32, require
from neuralgram.text.windows import Corpus, Windows, as_ids, check_ids
from neuralgram.training.batches import Batches, step_seed
from neuralgram.training.config import TrainConfig
from neuralgram.training.optimisers import Optimiser, clip_gradients, gradient_values
from neuralgram.training.schedules import Average, factor

_READ_EVERY = 32  # losses read from an accelerator at once: reading waits for it


class Steps(NamedTuple):
    """Updates just made: `step` counts all of the run so far, `losses` (nats) are those before each update."""

    step: int
    losses: list[float]
    lr: float


class Trainer:
    """Updates `model` on `windows` as `config` says, `total_steps` in all.

    `step` is the number of updates made. `parameters` are the trained ones, by name.
    """

    def __init__(self, model: NPLM, windows: Windows, config: TrainConfig, total_steps: int) -> None:
        self.model = model
        self.config = config
        self.total_steps = total_steps
        self.step = 0
        check_ids(windows.corpus, model.vocab_size)  # once, and not at every update
        self.batches = Batches(windows, config.batch_size, config.seed, boundary_rate=config.boundary_rate)
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        if not self.parameters:
            raise InputError("a model with every parameter frozen: expected something to train")
        optimizer, average = (
            member(OPTIMISERS, config.optimizer, "optimizer"),
            member(AVERAGES, config.average, "average"),
        )
        self.optimizer: Optimiser = optimizer(model.param_groups(config.weight_decay), config)
        self.average: Average | None = average(list(self.parameters.values()), config, total_steps)
        self._device = next(iter(self.parameters.values())).device
        self._rng = torch.Generator(self._device)
        self._warmup = round(config.warmup * total_steps)

    def run(self, until: int | None = None) -> Iterator[Steps]:
        """Makes updates until `until` of them are made (default: all of the run); yields as they are done.

        Raises `DivergedError` when a loss is not a number.
        """
        stop = self.total_steps if until is None else min(until, self.total_steps)
        size = 1 if self._device.type == "cpu" else _READ_EVERY
        while self.step < stop:
            lr = self.lr()
            pending = [self.update() for _ in range(min(size, stop - self.step))]
            losses = [pending[0].item()] if len(pending) == 1 else torch.stack(pending).tolist()
            for ago, loss in zip(range(len(losses) - 1, -1, -1), losses, strict=True):
                if not math.isfinite(loss):
                    raise diverged(loss, self.step - ago, lr)
            yield Steps(self.step, losses, lr)
        self.optimizer.settle()  # here and not after every update: whole tables are read only at a run's stops

    def lr(self) -> float:
        """ε_t of the next update."""
        c = self.config
        return c.lr * factor(c.schedule, self.step, self.total_steps, rate=c.decay_rate, warmup=self._warmup)

    def update(self) -> Tensor:
        """One update; the batch's mean loss before it, in nats, still on the model's device."""
        contexts, targets = self.batches.batch(self.step)
        self._rng.manual_seed(step_seed(self.config.seed, self.step))
        with self.optimizer.reading():
            losses = self.model.loss_of(contexts.to(self._device), targets.to(self._device), self._rng)
        loss = losses.sum() / self.config.batch_size
        loss.backward()  # type: ignore[no-untyped-call]
        if self.config.clip is not None:
            used = [p for p in self.parameters.values() if p.grad is not None]
            clip_gradients([gradient_values(p) for p in used], self.config.clip)
        lr = self.lr()
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        if self.average is not None:
            self.optimizer.settle()
            self.average.update(self.step)
        return loss.detach()

    def state(self) -> dict[str, Tensor]:
        """Every tensor of the run: `model.NAME`, `optimizer.NAME.KEY`, `average.NAME`; not copied."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        for name, parameter in self.parameters.items():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer.{name}.{key}"] = value
        if self.average is not None:
            tensors |= {f"average.{name}": v for name, v in zip(self.parameters, self.average.values, strict=True)}
        return tensors

    @torch.no_grad()
    def load_state(self, tensors: dict[str, Tensor], step: int) -> None:
        """Put back what `state` gave after `step` updates."""
        self.step = step
        for name, value in self.model.state_dict().items():
            value.copy_(tensors[f"model.{name}"])
        for name, parameter in self.parameters.items():
            prefix = f"optimizer.{name}."
            saved = {key.removeprefix(prefix): v for key, v in tensors.items() if key.startswith(prefix)}
            kept = {key: value.to(parameter.device, copy=True) for key, value in saved.items()}
            if kept:
                self.optimizer.state[parameter] = kept
        if self.average is not None:
            for name, value in zip(self.parameters, self.average.values, strict=True):
                value.copy_(tensors[f"average.{name}"])


def diverged(loss: float, step: int, lr: float) -> DivergedError:
    """The error of a run that lost itself, with where, at what rate, and what to try."""
    return DivergedError(
        f"training diverged: the loss was {loss:.4g} at step {step}, learning rate {lr:.3g}; "
        f"try a tenth of that rate ({lr / 10:.2g}) or bound the gradient (clip 1)"
    )


def train_nplm(  # noqa: PLR0917 - the contract's signature
    model: NPLM,
    ids: ArrayLike,
    steps: int,
    batch_size: int,
    lr: float,
    rng: PCG32,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    clip: float | None = None,
) -> list[float]:
    """Train `model` on one stream of ids by SGD: v ← μv + g, p ← p − lr·v, g + λp on all but biases.

    One seed is drawn from `rng`, its next 32 bits; epoch e visits the windows in the order `permutation(N, seed, e)`,
    its last partial batch dropped, and epochs follow one another until exactly `steps` updates of `batch_size`
    windows are made.
    Returns the mean loss in nats before each update. Raises `InputError` for sizes below 1, ids outside
    the vocabulary, and fewer windows than one batch; `DivergedError` when a loss is not a number.
    """
    if not isinstance(model, NPLM):
        raise InputError(f"model {model!r}: expected an NPLM")
    config = TrainConfig(
        steps=steps,
        batch_size=batch_size,
        seed=require(rng).next_uint32(),
        optimizer="sgd",
        schedule="constant",
        lr=lr,
        momentum=momentum,
        weight_decay=weight_decay,
        clip=clip,
    )
    flat = as_ids(ids, model.vocab_size)
    if flat.ndim != 1:
        raise InputError(f"ids of shape {flat.shape}: expected one sequence, [T]")
    trainer = Trainer(model, Corpus(flat, model.vocab_size).windows(model.context), config, steps)
    return [loss for done in trainer.run() for loss in done.losses]
