"""Drawing tokens from a fixed distribution in constant time: Walker's alias method (1977), Vose's table (1991)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from neuralgram.errors import InputError

_UNSEEN = 0.5  # a token that never occurs is counted as half a time, so that every token can be drawn


def token_counts(counts: ArrayLike | None, vocab_size: int) -> NDArray[np.float64]:
    """How often each token occurs, float64 [V]: as given, or V/(id + 1), as ids are given out by frequency.

    Raises `InputError` where they are not V finite numbers of at least 0.
    """
    if counts is None:
        return vocab_size / np.arange(1.0, vocab_size + 1)
    array = np.asarray(counts, np.float64)
    if array.shape != (vocab_size,) or not np.isfinite(array).all() or (array < 0).any():
        raise InputError(
            f"token counts of shape {list(array.shape)}: expected {vocab_size} numbers of at least 0, one a token"
        )
    return array


def alias_table(q_V: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """`accept` and `other` [V]: column v, one in V, gives v with probability accept[v] and else other[v].

    A light token (V·q < 1) leaves room in its column, a heavy one has too much for its own. Both are
    walked through in order; how much room was left and how much was too much, summed up to each of them,
    says who fills whose room, so the walk is two searches in sorted arrays.
    """
    share_V = q_V * (len(q_V) / q_V.sum())
    light, heavy = np.flatnonzero(share_V < 1), np.flatnonzero(share_V >= 1)
    accept, other = np.ones(len(q_V)), np.arange(len(q_V))
    if not len(light) or not len(heavy):  # all alike, or all but for rounding
        return accept, other
    room = np.concatenate([[0.0], np.cumsum(1 - share_V[light])])  # before each light token, and of all
    excess = np.cumsum(share_V[heavy] - 1)  # of the heavy tokens up to and with each
    accept[light] = share_V[light]
    filler = np.searchsorted(excess, room[:-1], side="right")
    other[light] = heavy[np.minimum(filler, len(heavy) - 1)]
    used = np.minimum(np.searchsorted(room, excess, side="left"), len(light))
    # What a heavy token keeps of its own column once it has filled its share of rooms; the next one fills the rest.
    accept[heavy] = np.clip(1 + excess - room[used], 0.0, 1.0)
    accept[heavy[-1]] = 1.0
    other[heavy[:-1]] = heavy[1:]
    return accept, other


class Noise(nn.Module):
    """q_w ∝ count_w^α as an alias table: buffers `accept`, `other` and `log_q`, each [V]."""

    accept: Tensor
    other: Tensor
    log_q: Tensor

    def __init__(self, counts: NDArray[np.float64], power: float) -> None:
        super().__init__()
        weight = np.maximum(counts, _UNSEEN) ** power
        accept, other = alias_table(weight)
        self.register_buffer("accept", torch.from_numpy(accept.astype(np.float32)))
        self.register_buffer("other", torch.from_numpy(other.astype(np.int32)))
        self.register_buffer("log_q", torch.from_numpy(np.log(weight / weight.sum()).astype(np.float32)))

    def draw(self, count: int, rng: torch.Generator) -> Tensor:
        """`count` tokens, drawn independently from q by `rng`, int64 [count]."""
        device = self.accept.device
        column = torch.randint(len(self.accept), (count,), generator=rng, device=device)
        chance = torch.rand(count, generator=rng, device=device)
        return torch.where(chance < self.accept[column], column, self.other[column].long())


def by_frequency(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Token ids, most frequent first; equally frequent ones by id."""
    return np.argsort(-counts, kind="stable")
