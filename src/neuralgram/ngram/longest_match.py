"""The longest context seen: p(w | h) = c(h_j w)/c(h_j), h_j the last j tokens, j the longest with c(h_j) > 0.

After "the sheep ate the", never seen, it reads "ate the" and knows nothing of sheep. It falls back for contexts, never
for words: a word never seen after h_j has probability 0, however often it follows a shorter context.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.ngram.frequencies import longest
from neuralgram.ngram.relative import RelativeFrequency
from neuralgram.ngram.trie import Ints


class LongestMatch(RelativeFrequency):
    """The relative frequencies after the longest context seen."""

    smoothing = "longest-match"

    def matched(self, contexts: ArrayLike) -> NDArray[np.int64]:
        """How many of the last tokens of each context [B, c] are read, [B]: 0 … c."""
        return longest(self._frequencies.seen(self.check_windows(contexts))[1])

    def _length(self, windows: Ints, total: Ints) -> Ints:
        return longest(total)
