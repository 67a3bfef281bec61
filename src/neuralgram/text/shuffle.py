"""A shuffle that needs no memory: position i of an epoch is computed, never stored.

A balanced Feistel network over the next even number of bits permutes a power of four; values
outside 0 … n − 1 are walked along their cycle until they fall inside (Black & Rogaway 2002), which
leaves a permutation of 0 … n − 1. So batch = f(seed, step), a run resumes from a step number, and
a corpus of 10⁹ windows is shuffled in the memory of one batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.rng import generator
from neuralgram.settings import whole

_ROUNDS = 6
GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def permutation(n: int, seed: int, epoch: int = 0) -> NDArray[np.int64]:
    """The order in which epoch `epoch` of a run with `seed` visits its `n` windows: each of 0 … n − 1 once, int64 [n].

    Update number t, with batches of B windows, is made from the windows permutation(n, seed, e)[i·B : (i + 1)·B],
    where e, i = divmod(t, n // B). Raises `InputError` for n or epoch below 0.
    """
    if whole("n", n) < 0 or whole("epoch", epoch) < 0:
        raise InputError(f"n {n}, epoch {epoch}: expected 0 or more of each")
    return Permutation(n, epoch_key(whole("seed", seed), epoch)).take(0, n)


def epoch_key(seed: int, epoch: int) -> int:
    """The key of epoch `epoch` of a run: 64 bits mixed from (seed, epoch)."""
    return mix(mix(seed) + epoch)


def mix(value: int) -> int:
    """SplitMix64 of one number; plain integers are faster than arrays of one."""
    z = (value + 1) * GOLDEN & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


class Permutation:
    """The permutation of 0 … n − 1 that belongs to `key` (an int); `take(start, stop)` is a piece of it."""

    def __init__(self, n: int, key: int) -> None:
        self.n = n
        self._half = np.uint64(max(1, (max(n - 1, 1).bit_length() + 1) // 2))
        self._mask = np.uint64((1 << int(self._half)) - 1)
        rng = generator(key, "shuffle")
        self._keys = [np.uint64(rng.next_uint32() | rng.next_uint32() << 32) for _ in range(_ROUNDS)]

    def take(self, start: int, stop: int) -> NDArray[np.int64]:
        """Entries start … stop − 1 of the permutation, int64."""
        return self.at(np.arange(start, min(stop, self.n), dtype=np.uint64))

    def at(self, places: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The entries at these places, each below n, int64."""
        values = self._rounds(places)
        outside = np.flatnonzero(values >= self.n)
        while outside.size:
            values[outside] = self._rounds(values[outside])
            outside = outside[values[outside] >= self.n]
        return values.astype(np.int64)

    def _rounds(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = values >> self._half, values & self._mask
        for key in self._keys:
            mixed = (right + key) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
            mixed *= np.uint64(0xD6E8FEB86659FD93)
            left, right = right, left ^ (mixed >> np.uint64(32)) & self._mask
        return (left << self._half) | right
