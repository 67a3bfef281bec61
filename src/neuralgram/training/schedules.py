"""Learning rates: ε_t = ε_0 · schedule(t), t updates into a run of T."""

from __future__ import annotations

import math
from collections.abc import Callable


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


SCHEDULES: dict[str, Callable[[int, int, float], float]] = {
    "constant": constant,
    "paper": paper,
    "linear": linear,
    "cosine": cosine,
}


def factor(name: str, t: int, total: int, *, rate: float = 0.0, warmup: int = 0) -> float:
    """ε_t/ε_0 at update `t` (0, 1, …, total − 1): the schedule `name`, risen to over `warmup` updates.

    During warm-up the rate is (t + 1)/warmup of the schedule's, so no update is made with rate 0.
    """
    scale = SCHEDULES[name](t, total, rate)
    return scale * (t + 1) / warmup if t < warmup else scale
