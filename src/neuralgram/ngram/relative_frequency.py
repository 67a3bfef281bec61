"""The estimators that smooth nothing: p(w | h) = c(h_j w)/c(h_j), h_j the last j tokens; they differ in j.

Maximum likelihood reads the whole context. The longest match reads the longest end of it that was seen: after "the
sheep ate the", never seen, it reads "ate the" and knows nothing of sheep. It falls back for contexts, never for words.

A word never seen after h_j has probability 0 (loss inf); after a context never seen, which has no relative
frequency, every token has 1/V. `floor` ε mixes in the uniform distribution, (1 − ε)·p + ε/V: every loss is finite.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.explanation import Index, Panel, Spelled
from neuralgram.ngram.counts import Counts, Frequencies, longest, shares
from neuralgram.ngram.model import Config, Counting, NgramModel, State, log, sizes
from neuralgram.ngram.trie import Floats, Ints
from neuralgram.numbers import number
from neuralgram.settings import setting
from neuralgram.text.windows import Corpus, as_ids


class RelativeFrequency(NgramModel):
    """Counts, read as they are; `_length` says after how many tokens, `fallen` why not after all of them."""

    fallen: ClassVar[str] = ""

    @dataclass(frozen=True)
    class Settings(Counting):
        """The options of relative frequencies."""

        floor: float = setting(
            0.0,
            help="This much of a uniform distribution.",
            low=0,
            high=1,
            expected="the weight of the uniform distribution, 0 to 1",
        )

    def __init__(self, counts: Counts, floor: float = 0.0) -> None:
        self._frequencies = Frequencies(counts)
        self.vocab_size = counts.trie.vocab_size
        self.context = counts.order - 1
        self.boundary = counts.boundary
        self.floor = self.Settings(floor=floor).floor

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        order: int,
        *,
        floor: float = Settings.floor,
        memory_limit: int | None = Settings.memory_limit,
    ) -> Self:
        """Count a corpus; `floor` (0 to 1) is the weight of the uniform distribution."""
        given = cls.Settings(floor=floor, memory_limit=memory_limit)
        return cls(Counts.of(corpus, order, memory_limit=given.memory_limit), given.floor)

    @abstractmethod
    def _length(self, windows: Ints, total: Ints) -> Ints:
        """How many of the last tokens of each window [B, c] are read, [B]; total [B, c + 1] is c(h_j)."""

    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Natural log-probabilities [B, V] after `contexts` [B, c]; −inf for what never followed the context read."""
        windows = self.check_windows(contexts)
        nodes, total = self._frequencies.seen(windows)
        rows = self._frequencies.relative(nodes, total, self._length(windows, total))
        return self._log_mixed(rows)

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context) in nats, [B]; inf for what never followed the context read."""
        windows = self.check_windows(contexts, targets)
        joint, total = self._frequencies.pairs(windows, as_ids(targets))
        p = _divided(joint, total, self._length(windows, total), self.vocab_size)
        return -self._log_mixed(p)

    def _log_mixed(self, p: Floats) -> Floats:
        """log ((1 − ε)p + ε/V), also where a float is too coarse for ε/V."""
        out = log((1 - self.floor) * p + self.floor / self.vocab_size)
        if 0 < self.floor < np.finfo(float).tiny * self.vocab_size:
            out[p == 0] = np.log(self.floor) - np.log(self.vocab_size)
        return out

    def explain(self, context: Ints, words: Sequence[int]) -> tuple[Panel, ...]:
        """The contexts, short to long, and the counts after the one that is read."""
        window = context[None, :]
        used = int(self._length(window, self._frequencies.seen(window)[1])[0])
        mark = f"← read (order {used + 1}){self.fallen if used < self.context else ''}"
        contexts, joint, total = self._frequencies.told(context, {used: mark})
        floor, V = number(self.floor), self.vocab_size
        equation = "c(h w) / c(h)" + (f", mixed with {floor} of 1/V" if self.floor else "")

        def opened(index: Index, spelled: Spelled) -> tuple[str, str]:
            count, whole = number(float(joint[index[0], used])), number(float(total[used]))
            share = f"{count} / {whole}" if total[used] else f"1 / {V}"
            return equation, f"(1 − {floor})·{share} + {floor}/{V}" if self.floor else share

        p = np.exp(self.log_probs(window)[0])
        return contexts, shares(joint, p, f"p = {equation}", opened)

    def state(self) -> State:
        """The counts."""
        return self._frequencies.counts.state()

    def config(self) -> Config:
        """What was chosen: the order and the floor."""
        return self.chosen(floor=self.floor)

    @classmethod
    def restored(cls, config: Config, state: State) -> Self:
        """The model that `config()` and `state()` describe."""
        V, order, boundary = sizes(config)
        return cls(Counts.from_state(V, order, boundary, state), config["floor"])


def _divided(joint: Ints, total: Ints, length: Ints, vocab_size: int) -> Floats:
    """c(h_j w)/c(h_j) for j = `length` [B]; 1/V where c(h_j) = 0."""
    rows = np.arange(len(length))
    divisor = total[rows, length]
    return np.where(divisor > 0, joint[rows, length] / np.maximum(divisor, 1), 1 / vocab_size)


class MaximumLikelihood(RelativeFrequency):
    """The relative frequency after the whole context, c(hw)/c(h), and nothing else."""

    smoothing = "mle"

    def _length(self, windows: Ints, total: Ints) -> Ints:
        return self._frequencies.whole(windows)


class LongestMatch(RelativeFrequency):
    """The relative frequencies after the longest end of the context that was seen."""

    smoothing = "longest-match"
    fallen = "; longer ones were never seen"

    def matched(self, contexts: ArrayLike) -> NDArray[np.int64]:
        """How many of the last tokens of each context [B, c] are read, [B]: 0 … c."""
        return longest(self._frequencies.seen(self.check_windows(contexts))[1])

    def orders(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.int64]:
        """How many tokens each probability is read from, the predicted one included, [B]."""
        self.check_windows(contexts, targets)
        return self.matched(contexts) + 1

    def _length(self, windows: Ints, total: Ints) -> Ints:
        return longest(total)
