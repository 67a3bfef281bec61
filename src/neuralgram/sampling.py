"""Choosing a token from a row of log-probabilities: greedy, temperature, top-k, top-p.

All weights are float64. One PCG32 serves a whole text, one uniform a token; the token is the first
id whose running sum of weights exceeds u times their total. Ties go to the lowest id.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError
from neuralgram.rng import generator
from neuralgram.settings import number, whole


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn.

    temperature  0 takes the likeliest token; T > 0 draws with weights exp((y − max y)/T)
    top_k        only the k likeliest tokens (None: all; above V means all)
    top_p        only the smallest set of likeliest tokens whose probability reaches p (1: all)
    banned       ids that are never drawn, such as the unknown symbol
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    banned: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(number("temperature", self.temperature)) and self.temperature >= 0):
            raise InputError(f"temperature {self.temperature}: expected a number of 0 or more (0 is greedy)")
        if self.top_k is not None and whole("top-k", self.top_k) < 1:
            raise InputError(f"top-k {self.top_k}: expected at least 1 (leave it out to keep every token)")
        if not 0 < number("top-p", self.top_p) <= 1:
            raise InputError(f"top-p {self.top_p}: expected above 0 and at most 1 (1 keeps every token)")


class Chooser:
    """Draws one token after another; `weights` shows the distribution it draws from."""

    def __init__(self, sampling: Sampling, seed: int) -> None:
        self.sampling = sampling
        self._rng = generator(seed, "sampling")

    def __call__(self, log_probs: ArrayLike) -> int:
        """The next token id from one row of log-probabilities (or scores) [V]."""
        scores = self._allowed(log_probs)
        if self.sampling.temperature == 0:
            return int(scores.argmax())
        running = np.cumsum(self._weights(scores))
        return int(np.searchsorted(running, self._rng.uniform() * running[-1], side="right"))

    def weights(self, log_probs: ArrayLike) -> NDArray[np.float64]:
        """The probabilities [V] the next draw uses, after temperature, top-k, top-p and bans."""
        scores = self._allowed(log_probs)
        if self.sampling.temperature == 0:
            greedy = np.zeros_like(scores)
            greedy[scores.argmax()] = 1.0
            return greedy
        weights = self._weights(scores)
        return np.asarray(weights / weights.sum())

    def _allowed(self, log_probs: ArrayLike) -> NDArray[np.float64]:
        scores = np.array(log_probs, np.float64)
        scores[list(self.sampling.banned)] = -np.inf
        if not np.isfinite(scores.max(initial=-np.inf)):
            raise InputError("no token can be drawn: every one is banned, impossible or not a number")
        return scores

    def _weights(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):  # a temperature near 0: all but the likeliest become 0
            weights: NDArray[np.float64] = np.exp((scores - scores.max()) / self.sampling.temperature)
        k = self.sampling.top_k
        if (k is not None and k < len(weights)) or self.sampling.top_p < 1:
            order = np.argsort(-weights, kind="stable")  # stable: ties stay in id order
            keep = len(weights) if k is None else k
            if self.sampling.top_p < 1:
                running = np.cumsum(weights[order[:keep]])
                keep = 1 + int(np.searchsorted(running, self.sampling.top_p * running[-1]))
            weights[order[keep:]] = 0.0
        return weights
