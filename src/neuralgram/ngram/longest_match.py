"""The longest context seen: p(w | h) = c(h_j w)/c(h_j), h_j the last j tokens, j the longest with c(h_j) > 0.

After "the sheep ate the", never seen, it reads "ate the" and knows nothing of sheep. A word never
seen after h_j has probability 0 (loss inf), however often it follows a shorter context: this model falls back
for contexts, never for words. `floor` ε mixes in the uniform distribution: (1 − ε)·p + ε/V.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.ngram.counts import Counts
from neuralgram.ngram.frequencies import Frequencies, longest
from neuralgram.ngram.mle import check_floor, divided
from neuralgram.ngram.model import Config, NgramModel, State, log, sizes
from neuralgram.text.windows import Corpus, as_ids


class LongestMatch(NgramModel):
    """The relative frequencies after the longest context seen."""

    smoothing = "longest-match"

    def __init__(self, counts: Counts, floor: float = 0.0) -> None:
        self._frequencies = Frequencies(counts)
        self.vocab_size = counts.trie.vocab_size
        self.context = counts.order - 1
        self.boundary = counts.boundary
        self.floor = check_floor(floor)

    @classmethod
    def fit(cls, corpus: Corpus, order: int, *, floor: float = 0.0, memory_limit: int | None = None) -> Self:
        """Count a corpus; `floor` (0 to 1) is the weight of the uniform distribution."""
        return cls(Counts.of(corpus, order, memory_limit=memory_limit), floor)

    def matched(self, contexts: ArrayLike) -> NDArray[np.int64]:
        """How many of the last tokens of each context [B, c] are read, [B]: 0 … c."""
        return longest(self._frequencies.seen(self.check_windows(contexts))[1])

    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Natural log-probabilities [B, V] after `contexts` [B, c]; −inf for what never followed the longest match."""
        nodes, total = self._frequencies.seen(self.check_windows(contexts))
        rows = self._frequencies.relative(nodes, total, longest(total))
        return log((1 - self.floor) * rows + self.floor / self.vocab_size)

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context) in nats, [B]; inf for what never followed the longest match."""
        joint, total = self._frequencies.pairs(self.check_windows(contexts, targets), as_ids(targets))
        p = divided(joint, total, longest(total), self.vocab_size)
        return -log((1 - self.floor) * p + self.floor / self.vocab_size)

    def state(self) -> State:
        """The counts."""
        return self._frequencies.counts.state()

    def config(self) -> Config:
        """What was chosen: the order and the floor."""
        return self.chosen(floor=self.floor)

    @classmethod
    def from_state(cls, config: Config, state: State) -> Self:
        """The model that `config()` and `state()` describe."""
        V, order, boundary = sizes(config)
        return cls(Counts.from_state(V, order, boundary, state), config["floor"])
