"""Maximum likelihood: p(w | h) = c(hw)/c(h), the relative frequency after the whole context, and nothing else."""

from __future__ import annotations

from neuralgram.ngram.relative import RelativeFrequency
from neuralgram.ngram.trie import Ints


class MaximumLikelihood(RelativeFrequency):
    """The relative frequencies of one order."""

    smoothing = "mle"

    def _length(self, windows: Ints, total: Ints) -> Ints:
        return self._frequencies.whole(windows)
