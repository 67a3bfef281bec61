"""PCG32, the one source of randomness: a seed and a stream number give one fixed sequence.

The generator is PCG-XSH-RR 64/32 (O'Neill 2014): a 64-bit linear congruential state and a
32-bit output of it by xor-shift and random rotation. Blocks are drawn by jumping the
congruence ahead, so a million draws are a few NumPy operations and equal a million single ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.settings import whole

_MULTIPLIER = 6364136223846793005
_MASK = (1 << 64) - 1
_BLOCK = 1 << 14  # draws per vectorised block: three such uint64 arrays stay in the L2 cache

# One stream number a purpose, so that no two purposes of one seed share a sequence. Two do: the weights of a new
# network and the tokens of a generated text are both drawn from `PCG32(seed)` itself, by the contract that every
# implementation of it is checked against, so text of seed s reads the numbers that weights of seed s were made of.
# Training has changed those beyond recognition; give another seed where it has not. Dropout masks, noise words and
# hidden tokens of windows are no streams: they are functions of (seed, step), in `training/batches.py`.
STREAMS = {"init": 54, "sampling": 54, "shuffle": 77, "split": 104, "tales": 106, "units": 107}


class PCG32:
    """`PCG32(seed, stream=54)`: `next_uint32()`, `uniform()` = next_uint32 / 2**32, and blocks of both.

    >>> f"{PCG32(42).next_uint32():08x}"
    'a15c02b7'
    """

    def __init__(self, seed: int, stream: int = 54) -> None:
        self._increment = ((whole("stream", stream) << 1) | 1) & _MASK
        self._state = 0
        self._advance()
        self._state = (self._state + whole("seed", seed)) & _MASK
        self._advance()

    def _advance(self) -> None:
        self._state = (self._state * _MULTIPLIER + self._increment) & _MASK

    def next_uint32(self) -> int:
        """The next 32-bit output."""
        state = self._state
        self._advance()
        xorshifted = (((state >> 18) ^ state) >> 27) & 0xFFFFFFFF
        rotation = state >> 59
        return ((xorshifted >> rotation) | (xorshifted << (-rotation & 31))) & 0xFFFFFFFF

    def uniform(self) -> float:
        """A float in [0, 1): the next output over 2**32."""
        return self.next_uint32() / 4294967296.0

    def uint32s(self, count: int) -> NDArray[np.uint32]:
        """The next `count` outputs, as uint32 [count]; the same numbers `next_uint32` would give."""
        if count < 0:
            raise InputError(f"cannot draw {count} numbers: expected a count of at least 0")
        out = np.empty(count, np.uint32)
        factors, offsets = _jumps(min(count, _BLOCK), self._increment)
        for start in range(0, count, _BLOCK):
            size = min(_BLOCK, count - start)
            states = factors[:size] * np.uint64(self._state) + offsets[:size]
            out[start : start + size] = _output(states)
            self._state = int(states[-1])
            self._advance()
        return out

    def uniforms(self, count: int) -> NDArray[np.float64]:
        """The next `count` values of `uniform()`, float64 [count]."""
        return self.uint32s(count) / 4294967296.0


def require(rng: object, method: str = "next_uint32") -> PCG32:
    """`rng` where it draws numbers as `PCG32` does, by the `method` that is called, or an `InputError`."""
    if isinstance(rng, type) or not callable(getattr(rng, method, None)):
        raise InputError(f"rng {rng!r}: expected a generator of random numbers, such as PCG32(0)")
    return rng  # type: ignore[return-value]  # or what does the same


def generator(seed: int, purpose: str) -> PCG32:
    """The generator of one purpose, a name in `STREAMS`, of a seed."""
    return PCG32(seed, STREAMS[purpose])


def _jumps(count: int, increment: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """a[i], b[i] with state after i steps = a[i]·state + b[i] (mod 2**64), by doubling."""
    factors = np.ones(max(count, 1), np.uint64)
    offsets = np.zeros(max(count, 1), np.uint64)
    filled, factor, offset = 1, _MULTIPLIER, increment
    while filled < count:
        size = min(filled, count - filled)
        factors[filled : filled + size] = factors[:size] * np.uint64(factor)
        offsets[filled : filled + size] = offsets[:size] * np.uint64(factor) + np.uint64(offset)
        offset = (offset * factor + offset) & _MASK
        factor = (factor * factor) & _MASK
        filled += size
    return factors, offsets


def _output(states: NDArray[np.uint64]) -> NDArray[np.uint32]:
    xorshifted = (((states >> np.uint64(18)) ^ states) >> np.uint64(27)).astype(np.uint32)
    rotation = (states >> np.uint64(59)).astype(np.uint32)
    return (xorshifted >> rotation) | (xorshifted << (-rotation & np.uint32(31)))
