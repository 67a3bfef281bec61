"""Which windows an update sees: batch = f(seed, step, rank, world), and nothing else; and which ones a validation
scores.

Epoch e visits the windows in the order of the permutation keyed by (seed, e), the last partial
batch dropped. Nothing is remembered, so a run resumes from a step number. Of several workers that
share a batch each reads a stretch of it, so that all of them together read what one alone would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuralgram.errors import InputError
from neuralgram.text.shuffle import GOLDEN, Permutation, epoch_key, mix
from neuralgram.text.windows import Windows

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM

_BLOCK = 1 << 14  # windows gathered at once: enough to make the cost of NumPy's calls vanish, few enough for the cache


class Batches:
    """The batches of a run over `windows`, `batch_size` windows each.

    rank, world: the worker that reads them, and how many workers share each batch equally; every one gets its own
    stretch of `batch_size / world` windows.
    boundary_rate: this fraction of the windows has a random number, 1 … c, of its oldest tokens read as the
    boundary symbol, so that a model trained on documents also knows what a short prompt looks like.
    Raises `InputError` where the windows do not fill one batch, or a batch is not `world` equal stretches.
    """

    def __init__(
        self,
        windows: Windows,
        batch_size: int,
        seed: int,
        *,
        rank: int = 0,
        world: int = 1,
        boundary_rate: float = 0.0,
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch size {batch_size}: expected at least 1 window")
        if len(windows) < batch_size:
            raise InputError(
                f"{len(windows)} windows of {windows.context} + 1 tokens: expected at least one batch, {batch_size}; "
                "give more text or a smaller batch"
            )
        if not 0 <= rank < world:
            raise InputError(f"rank {rank} of {world} workers: expected 0 … {world - 1}, of at least 1")
        if batch_size % world:
            raise InputError(f"batch size {batch_size} for {world} workers: expected a multiple of {world}")
        boundary = windows.corpus.boundary
        if boundary_rate > 0 and boundary is None:
            raise InputError(f"boundary rate {boundary_rate}: a stream has no boundary symbol; expected 0")
        self.windows = windows
        self.batch_size = batch_size
        self.share = batch_size // world
        self.rank = rank
        self.seed = seed
        self.boundary_rate = boundary_rate
        self._boundary = -1 if boundary is None else boundary
        self.per_epoch = len(windows) // batch_size
        self._epoch = -1
        self._permutation = Permutation(len(windows), 0)
        self._first = self._stop = 0  # the steps whose windows are held
        self._contexts = self._targets = torch.empty(0, dtype=torch.int64)

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Contexts [B, c] and targets [B], int64, of update `step` (0, 1, …); B is this worker's share."""
        if not self._first <= step < self._stop:
            self._gather(step)
        start = (step - self._first) * self.share
        stop = start + self.share
        return self._contexts[start:stop], self._targets[start:stop]

    def order(self, epoch: int) -> Permutation:
        """The permutation of the windows in epoch `epoch`."""
        return Permutation(len(self.windows), epoch_key(self.seed, epoch))

    def _gather(self, step: int) -> None:
        epoch, within = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._permutation = epoch, self.order(epoch)
        stop = min(self.per_epoch, within + max(1, _BLOCK // self.share))
        starts = np.arange(within, stop, dtype=np.uint64) * np.uint64(self.batch_size)
        own = np.arange(self.rank * self.share, (self.rank + 1) * self.share, dtype=np.uint64)
        places = np.add.outer(starts, own).ravel()  # in the order of the epoch
        contexts, targets = self.windows.gather(self._permutation.at(places))
        if self.boundary_rate > 0:
            contexts = self._shorten(contexts, epoch, places)
        self._contexts, self._targets = torch.from_numpy(contexts), torch.from_numpy(targets)
        self._first, self._stop = step, step + stop - within

    def _shorten(self, contexts: NDArray[np.int64], epoch: int, places: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Some windows with their oldest tokens read as the boundary; which ones depends on (seed, epoch, place)."""
        width = contexts.shape[1]
        noise = _uniform(places, epoch_key(self.seed, epoch))
        # Given u < rate, u/rate is itself uniform: one number decides whether and how many.
        lengths = np.where(noise < self.boundary_rate, np.ceil((noise / self.boundary_rate) * width), 0)
        return np.where(np.arange(width) < lengths[:, None], self._boundary, contexts)


class Validation:
    """Held-out loss during training: exact, in float64, the same tokens every time.

    Scores `windows`, or `limit` of them evenly spaced where there are more; `tokens` says how many.

    Raises `InputError` where there is nothing to score.
    """

    def __init__(self, windows: Windows, limit: int | None = None) -> None:
        self.windows = windows
        self.tokens = len(windows) if limit is None else min(limit, len(windows))
        if not self.tokens:
            raise InputError(
                f"a validation text of {len(windows.corpus)} tokens has nothing to score: "
                f"expected more than the context, {windows.context}; give a longer one or none"
            )
        self.whole = self.tokens == len(windows)

    def loss(self, model: NPLM) -> float:
        """The mean −log P in nats over the scored tokens: the total over the count, however batched."""
        return self._total(model, self.tokens) / self.tokens

    def part(self, model: NPLM, tokens: int) -> None:
        """Score the first `tokens` of them, for timing."""
        self._total(model, min(tokens, self.tokens))

    def _total(self, model: NPLM, tokens: int) -> float:
        total = 0.0
        for start in range(0, tokens, model.score_batch):
            places = np.arange(start, min(start + model.score_batch, tokens), dtype=np.int64)
            if not self.whole:  # place i of n is window ⌊i·N/n⌋
                places = places * len(self.windows) // self.tokens
            total += float(model.context_nll(*self.windows.gather(places)).sum())
        return total


def step_seed(seed: int, step: int) -> int:
    """The seed of the dropout masks of update `step`: 63 bits mixed from (seed, step)."""
    return mix(mix(seed ^ 0xD09017) + step) >> 1


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea & Flood 2014): the output of a Weyl sequence at these positions."""
    z = (values + np.uint64(1)) * np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _uniform(places: NDArray[np.uint64], key: int) -> NDArray[np.float64]:
    """A number in (0, 1) for each place, fixed by (place, key)."""
    return ((_mix(places ^ np.uint64(mix(key))) >> np.uint64(12)).astype(np.float64) + 0.5) / 4503599627370496.0
