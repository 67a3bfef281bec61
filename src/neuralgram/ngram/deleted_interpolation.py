"""Deleted interpolation (Jelinek & Mercer 1980), as in Bengio et al. (2003), section 4.2:

    P(w | h) = Σ_{i=0…n} α_i(q) p_i(w | h),   p_0 = 1/V,   p_i the relative frequency after i − 1 tokens

with one set of α for each bin q = l(freq(h)) of contexts of n − 1 tokens, fitted to held-out text by EM.
A p_i whose context never occurs, which the paper leaves open, is the next shorter one's, p_{i−1}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError, ModelDirError
from neuralgram.explanation import Index, Panel, Quantity, Spelled
from neuralgram.ngram.context_bins import bin_count, bin_of, em
from neuralgram.ngram.counts import Counts, Frequencies
from neuralgram.ngram.model import Config, Counting, NgramModel, State, log, sizes
from neuralgram.ngram.trie import Floats, Ints
from neuralgram.numbers import number
from neuralgram.settings import setting
from neuralgram.text.windows import Corpus, as_ids


class DeletedInterpolation(NgramModel):
    """Relative frequencies of all orders, mixed by how often the context occurs. `alphas` is [Q, n + 1]."""

    smoothing = "deleted-interpolation"

    @dataclass(frozen=True)
    class Settings(Counting):
        """The options of deleted interpolation."""

        iterations: int = setting(
            5,
            help="Passes of EM.",
            low=1,
            refused="{value} iterations of EM: expected at least 1",
        )

    def __init__(self, counts: Counts, alphas: Floats) -> None:
        self._frequencies = Frequencies(counts)
        self.vocab_size = counts.trie.vocab_size
        self.context = counts.order - 1
        self.boundary = counts.boundary
        self.tokens = int(counts.counts[0].sum())
        self.alphas = alphas

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        order: int,
        *,
        valid: Corpus | None = None,
        iterations: int = Settings.iterations,
        memory_limit: int | None = Settings.memory_limit,
    ) -> Self:
        """Count a corpus, and fit α on `valid` by `iterations` (the paper's: about 5) of EM from equal weights."""
        if valid is None or not len(valid.windows(order - 1)):
            raise InputError(
                f"deleted interpolation fits its weights to held-out text: give some (valid), at least {order} tokens"
            )
        if (corpus.vocab_size, corpus.boundary) != (valid.vocab_size, valid.boundary):
            raise InputError("held-out text of another vocabulary or boundary: expected the training text's tokenizer")
        iterations = cls.Settings(iterations=iterations, memory_limit=memory_limit).iterations
        counts = Counts.of(corpus, order, memory_limit=memory_limit)
        bins = bin_count(int(counts.counts[0].sum()))
        model = cls(counts, np.full((bins, order + 1), 1 / (order + 1)))
        windows = valid.windows(order - 1)
        chunks = range(0, len(windows), cls.score_batch)
        found = [model.components(*windows.slice(start, start + cls.score_batch)) for start in chunks]
        p, q = (np.concatenate(part) for part in zip(*found, strict=True))
        model.alphas = em(p, q, bins, iterations)
        return model

    def components(self, contexts: Ints, targets: Ints) -> tuple[Floats, Ints]:
        """p_0 … p_n of each target, [B, n + 1], and the bin q of each context, [B]."""
        joint, total = self._frequencies.pairs(contexts, targets)
        p = np.full((len(targets), self.order + 1), 1 / self.vocab_size)
        for i in range(1, self.order + 1):
            c = total[:, i - 1]
            p[:, i] = np.where(c > 0, joint[:, i - 1] / np.maximum(c, 1), p[:, i - 1])
        return p, self._bins(contexts, total)

    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Natural log-probabilities [B, V] after `contexts` [B, c]."""
        windows = self.check_windows(contexts)
        nodes, total = self._frequencies.seen(windows)
        alphas = self.alphas[self._bins(windows, total)]
        out = np.repeat(alphas[:, :1] / self.vocab_size, self.vocab_size, axis=1)
        used = np.zeros_like(nodes)  # column j: the longest seen of the last j tokens
        for j in range(1, self.order):
            used[:, j] = np.where(total[:, j] > 0, j, used[:, j - 1])
        for j in range(self.order):
            weight = (alphas[:, 1:] * (used == j)).sum(axis=1)
            row, word, node = self._frequencies.trie.continuations(j + 1, np.where(weight > 0, nodes[:, j], -1))
            out[row, word] += weight[row] * self._frequencies.counts.counts[j][node] / total[row, j]
        return log(out)

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context) in nats, [B]."""
        p, q = self.components(self.check_windows(contexts, targets), as_ids(targets))
        return -log((self.alphas[q] * p).sum(axis=1))

    def _bins(self, contexts: Ints, total: Ints) -> Ints:
        length = self._frequencies.whole(contexts)
        return bin_of(total[np.arange(len(length)), length], self.tokens)

    def explain(self, context: Ints, words: Sequence[int]) -> tuple[Panel, ...]:
        """The contexts, short to long; every order's relative frequency and its weight in this context's bin."""
        marks = dict.fromkeys(range(self.order), "← read, weighted")
        contexts, _, _ = self._frequencies.told(context, marks)
        window, V = context[None, :], self.vocab_size
        p_i, bins = self.components(np.repeat(window, V, axis=0), np.arange(V))
        alphas = self.alphas[int(bins[0])]

        def opened(index: Index, spelled: Spelled) -> tuple[str, str]:
            pairs = zip(alphas, p_i[index[0]], strict=True)
            return "Σ_i α_i·p_i", " + ".join(f"{number(float(a))}·{number(float(x))}" for a, x in pairs)

        columns = [f"p{i}" for i in range(len(alphas))]
        quantities = (
            Quantity("p_i", p_i, "p0 = 1/V, then c(h w)/c(h) order by order", columns=columns),
            Quantity("p", np.exp(self.log_probs(window)[0]), "p = Σ_i α_i p_i", opened=opened),
        )
        weights = ", ".join(f"α{i} = {number(float(a))}" for i, a in enumerate(alphas))
        text = f"How often the whole context occurs puts it into bin {int(bins[0])}; its weights: {weights}."
        return contexts, Panel("Interpolation", quantities, text=text)

    def state(self) -> State:
        """The counts and the weights."""
        return self._frequencies.counts.state() | {"alphas": self.alphas}

    def config(self) -> Config:
        """What was chosen: the order."""
        return self.chosen()

    @classmethod
    def restored(cls, config: Config, state: State) -> Self:
        """The model that `config()` and `state()` describe."""
        V, order, boundary = sizes(config)
        counts = Counts.from_state(V, order, boundary, state)
        alphas = np.asarray(state["alphas"], np.float64)
        expected = (bin_count(int(counts.counts[0].sum())), order + 1)
        if alphas.shape != expected:
            raise ModelDirError(f"array alphas has shape {alphas.shape}, expected {expected}: make the model again")
        return cls(counts, alphas)
