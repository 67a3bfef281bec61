"""What changes along a run: the learning rate, ε_t = ε_0 · schedule(t), t updates into a run of T; and averages of the
weights, which have less noise than the last update has, at no cost in learning rate.

An average sees the weights after every update; what it holds is evaluated and kept instead of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from neuralgram.families import SCHEDULES, member
from neuralgram.training.config import TrainConfig


def constant(t: int, total: int, rate: float) -> float:
    """1."""
    return 1.0


def paper(t: int, total: int, rate: float) -> float:
    """1/(1 + r·t), Bengio et al. (2003), section 4."""
    return 1.0 / (1.0 + rate * t)


def linear(t: int, total: int, rate: float) -> float:
    """1 − t/T: from 1 to 0 in a straight line."""
    return 1.0 - t / total


def cosine(t: int, total: int, rate: float) -> float:
    """(1 + cos(π·t/T))/2: from 1 to 0, flat at both ends (Loshchilov & Hutter 2017)."""
    return 0.5 * (1.0 + math.cos(math.pi * t / total))


def factor(name: str, t: int, total: int, *, rate: float = 0.0, warmup: int = 0) -> float:
    """ε_t/ε_0 at update `t` (0, 1, …, total − 1): the schedule `name`, risen to over `warmup` updates.

    During warm-up the rate is (t + 1)/warmup of the schedule's, so no update is made with rate 0.
    """
    scale: float = member(SCHEDULES, name, "schedule")(t, total, rate)
    return scale * (t + 1) / warmup if t < warmup else scale


class Average(ABC):
    """Averaged copies of `parameters`, in their order; `started` once there is something to use."""

    def __init__(self, parameters: list[Tensor], config: TrainConfig, total_steps: int) -> None:
        self.parameters = [p.detach() for p in parameters]
        self.values = [p.clone() for p in self.parameters]
        self.config = config
        self.total_steps = total_steps

    @abstractmethod
    def weight(self, step: int) -> float:
        """How far the average moves towards the weights after update `step` (1, 2, …); 0: not at all."""

    def started(self, step: int) -> bool:
        """Whether the average has taken in any weights after `step` updates."""
        return step > 0 and self.weight(step) > 0

    @contextmanager
    def used(self, step: int) -> Iterator[None]:
        """Inside, the parameters hold the average, if it has started."""
        if not self.started(step):
            yield
            return
        kept = [p.clone() for p in self.parameters]
        torch._foreach_copy_(self.parameters, self.values)
        try:
            yield
        finally:
            torch._foreach_copy_(self.parameters, kept)

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights as they are after update `step`."""
        weight = self.weight(step)
        if weight > 0:
            torch._foreach_lerp_(self.values, self.parameters, weight)


class Exponential(Average):
    """ā ← ā + (p − ā)·max(1 − decay, 10/(t + 9)), t = 1, 2, …: quick to forget the start, then exponential."""

    def weight(self, step: int) -> float:
        """max(1 − decay, 10/(t + 9)); 1 at the first update."""
        return max(1.0 - self.config.average_decay, 10.0 / (step + 9))


class Tail(Average):
    """The plain mean of the weights after each of the last updates (Polyak & Juditsky 1992)."""

    def weight(self, step: int) -> float:
        """1/k at the k-th update of the tail, 0 before it."""
        first = self.total_steps - max(1, round(self.total_steps * self.config.average_tail)) + 1
        return 1.0 / (step - first + 1) if step >= first else 0.0


def no_average(parameters: list[Tensor], config: TrainConfig, total_steps: int) -> None:
    """No average: the weights themselves are evaluated and kept."""
