"""Averages of the weights along a run: less noise than the last update, at no cost in learning rate.

An average sees the weights after every update; what it holds is evaluated and kept instead of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from neuralgram.training.config import TrainConfig


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


AVERAGES: dict[str, type[Average] | None] = {"none": None, "ema": Exponential, "tail": Tail}
