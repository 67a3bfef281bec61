"""Mixtures: P(w | h) = Σ_k λ_k P_k(w | h), over any models of the same vocabulary and boundary.

The weights λ are given, or fitted to held-out text by expectation–maximisation: one for each part, or one set for
each bin of contexts by how often they occur (Bengio et al. 2003, section 4.3). log is concave, so the loss of a
mixture on any token is at most the weighted mean of its parts' losses. Sums are made of logs: a part that gives
zero, or all of them, gives inf and never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError, ModelDirError
from neuralgram.explanation import Index, Panel, Quantity, Spelled
from neuralgram.lm import LanguageModel, Size, State
from neuralgram.ngram.context_bins import ContextBins, em
from neuralgram.ngram.counts import Counts
from neuralgram.numbers import number
from neuralgram.text.windows import Corpus, as_ids

Floats = NDArray[np.float64]


class Uniform(LanguageModel):
    """The same probability for every token, after any context: a floor for a mixture.

    With `among`, only these ids share it, evenly, and all others have 0: for tokens that training never holds, of
    which a model cannot know how much they have together.
    """

    kind: ClassVar[str] = "uniform"
    score_batch = 65536

    def __init__(self, vocab_size: int, among: ArrayLike | None = None) -> None:
        if vocab_size < 1:
            raise InputError(f"vocabulary of {vocab_size}: expected at least 1 symbol")
        self.vocab_size = vocab_size
        self.context = 0
        self.among = None if among is None else np.unique(as_ids(among, vocab_size))
        if self.among is not None and not len(self.among):
            raise InputError("a uniform distribution among no tokens: expected at least 1")
        ids = slice(None) if self.among is None else self.among
        self._log_p_V = np.full(vocab_size, -np.inf)
        self._log_p_V[ids] = -np.log(vocab_size if self.among is None else len(self.among))

    def log_probs(self, contexts: ArrayLike) -> Floats:
        """The same row for every context, [B, V]."""
        return np.tile(self._log_p_V, (len(self.check_windows(contexts)), 1))

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> Floats:
        """log of how many share, or inf for a target that has no part, [B]."""
        self.check_windows(contexts, targets)
        return -self._log_p_V[as_ids(targets)]

    def state(self) -> dict[str, NDArray[Any]]:
        """`among`, where not all share; nothing is learned."""
        return {} if self.among is None else {"among": self.among}

    def config(self) -> dict[str, Any]:
        """The size of the vocabulary."""
        return {"vocab_size": self.vocab_size}

    def size(self) -> Size:
        """Nothing was learned; `among` is given."""
        return Size(0, "numbers", sum(array.nbytes for array in self.state().values()))

    @classmethod
    def from_state(cls, config: Mapping[str, Any], state: State, parts: Sequence[LanguageModel] = ()) -> Self:
        """The model that `config()` and `state()` describe."""
        return cls(config["vocab_size"], state.get("among"))


class Mixture(LanguageModel):
    """A weighted mean of models; its context is the widest part's, and each part reads the last tokens of it.

    parts    the models, in the order of the weights
    weights  λ, [Q, K]: one row a bin of contexts, or a single row
    bins     which bin a context is in, or None
    boundary the parts' boundary symbol, None for streams (or for parts that have no say in it)
    """

    kind: ClassVar[str] = "mixture"

    def __init__(self, parts: Sequence[LanguageModel], weights: ArrayLike, bins: ContextBins | None = None) -> None:
        """`weights` [K] (or [Q, K] with `bins`): 0 or more, each row summing to 1 (within 10⁻⁶; then made exact)."""
        self.parts = tuple(parts)
        self.vocab_size, self.boundary = _agreed(self.parts)
        self.says_boundary = any(part.says_boundary for part in self.parts)
        self.bins = bins
        self.context = max(part.context for part in self.parts)
        if bins is not None:
            self.context = max(self.context, bins.length)
            if bins.counts.trie.vocab_size != self.vocab_size:
                raise InputError(f"bins counted over {bins.counts.trie.vocab_size} symbols: expected {self.vocab_size}")
        self.score_batch = min(part.score_batch for part in self.parts)
        self.weights = self.part_weights = _checked(weights, 1 if bins is None else len(bins), len(self.parts))

    @classmethod
    def learned(cls, parts: Sequence[LanguageModel], valid: Corpus, *, iterations: int = 1000) -> Self:
        """One weight a part, those that maximise the likelihood of `valid`."""
        return cls(parts, em(_held_out(cls(parts, _equal(parts)), valid), _one_bin(valid, parts), 1, iterations)[0])

    @classmethod
    def binned(
        cls, parts: Sequence[LanguageModel], valid: Corpus, bins: ContextBins | Corpus, *, iterations: int = 1000
    ) -> Self:
        """One set of weights for each bin of contexts, fitted to `valid`.

        `bins` is the training text, whose contexts of 2 tokens are counted as in the paper, or bins made before.
        Bins that no held-out context is in have the weights that all held-out tokens together ask for.
        """
        made = bins if isinstance(bins, ContextBins) else ContextBins.of(bins)
        start = cls(parts, np.repeat(_equal(parts)[None], len(made), axis=0), made)
        windows = valid.windows(start.context)
        steps = range(0, len(windows), 65536)
        q = np.concatenate([np.zeros(0, np.int64), *(made(windows.slice(i, i + 65536)[0]) for i in steps)])
        return cls(parts, em(_held_out(start, valid), q, len(made), iterations), made)

    def log_probs(self, contexts: ArrayLike) -> Floats:
        """Natural log-probabilities [B, V] after `contexts` [B, c]."""
        windows = self.check_windows(contexts)
        logs = self._log_weights(windows)
        out = np.full((len(windows), self.vocab_size), -np.inf)
        for k, part in enumerate(self.parts):
            np.logaddexp(out, logs[:, k : k + 1] + part.log_probs(self._last(windows, part)), out=out)
        return out

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> Floats:
        """−log P(target | context) in nats, [B]."""
        windows, words = self.check_windows(contexts, targets), as_ids(targets)
        logs = self._log_weights(windows)
        out = np.full(len(windows), -np.inf)
        for k, part in enumerate(self.parts):
            np.logaddexp(out, logs[:, k] - part.context_nll(self._last(windows, part), words), out=out)
        return -out

    def _last(self, windows: NDArray[np.int64], part: LanguageModel) -> NDArray[np.int64]:
        return windows[:, self.context - part.context :]

    def _log_weights(self, windows: NDArray[np.int64]) -> Floats:
        """log λ of each context, [B, K]."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.weights)
        q = np.zeros(len(windows), np.int64) if self.bins is None else self.bins(windows)
        return logs[q]

    @property
    def summary(self) -> str:
        """A mixture, and its sizes."""
        return f"a mixture: V {self.vocab_size}, c {self.context}"

    def shares(self, context: NDArray[np.int64]) -> Floats:
        """The weights of the bin that one window [c] is in, [K]."""
        return np.asarray(self.weights[self._bin(context) or 0], np.float64)

    def _bin(self, context: NDArray[np.int64]) -> int | None:
        return None if self.bins is None else int(self.bins(context[None, :])[0])

    def explain(self, context: NDArray[np.int64], words: Sequence[int]) -> tuple[Panel, ...]:
        """Each part's probabilities after one window [c], and their sum by weight; the parts explain themselves."""
        window, weights, found = self.check_windows(context[None, :]), self.shares(context), self._bin(context)
        shares_VK = np.exp(np.stack([part.log_probs(self._last(window, part))[0] for part in self.parts], axis=1))
        names = [f"p{k + 1}" for k in range(len(self.parts))]

        def opened(index: Index, _: Spelled) -> tuple[str, str]:
            general = " + ".join(f"λ{k + 1}·{name}" for k, name in enumerate(names))
            pairs = zip(weights, shares_VK[index[0]], strict=True)
            return general, " + ".join(f"{number(float(w))}·{number(float(p))}" for w, p in pairs)

        quantities = (
            Quantity(
                "p_i",
                shares_VK,
                "each part's own probability",
                opened=lambda index, _: (f"part {index[1] + 1} by itself", ""),
                columns=names,
            ),
            Quantity("p", np.exp(self.log_probs(window)[0]), "p = Σ_i λ_i p_i", opened=opened),
        )
        told = zip(names, self.parts, weights, strict=True)
        text = "; ".join(
            f"{name} is {part.summary}; λ{k} = {number(float(w))}" for k, (name, part, w) in enumerate(told, 1)
        )
        where = "How often the window's last tokens occur in training puts it into bin"
        return (Panel("The mixture", quantities, text=f"{text}." + ("" if found is None else f" {where} {found}.")),)

    def state(self) -> dict[str, NDArray[Any]]:
        """`weights` [Q, K], and the counts of the bins; the parts are stored by themselves."""
        counted = {} if self.bins is None else {f"bins.{name}": value for name, value in self.bins.state().items()}
        return {"weights": self.weights} | counted

    def config(self) -> dict[str, Any]:
        """The number of parts, and the length of the contexts that are binned (null: one set of weights)."""
        length = None if self.bins is None else self.bins.length
        boundary = None if self.bins is None else self.bins.counts.boundary
        return {"parts": len(self.parts), "bins": length, "bins_boundary": boundary, "vocab_size": self.vocab_size}

    @classmethod
    def from_state(cls, config: Mapping[str, Any], state: State, parts: Sequence[LanguageModel] = ()) -> Self:
        """The mixture that `config()` and `state()` describe, of these parts."""
        if len(parts) != config["parts"]:
            raise ModelDirError(f"a mixture of {config['parts']} parts: {len(parts)} were found")
        bins = None
        if config["bins"] is not None:
            arrays = {name.removeprefix("bins."): value for name, value in state.items() if name.startswith("bins.")}
            counts = Counts.from_state(config["vocab_size"], config["bins"], config["bins_boundary"], arrays)
            bins = ContextBins(counts)
        return cls(parts, state["weights"], bins)


def _agreed(parts: Sequence[LanguageModel]) -> tuple[int, int | None]:
    """The vocabulary size and boundary all parts have, or an `InputError` that names the two that differ."""
    if not parts:
        raise InputError("a mixture of no models: expected at least one part")
    first = parts[0].vocab_size
    boundaries = [(i, part.boundary) for i, part in enumerate(parts) if part.says_boundary]
    for i, part in enumerate(parts):
        if part.vocab_size != first:
            raise InputError(f"part {i + 1} is over {part.vocab_size} symbols, part 1 over {first}: expected the same")
    for i, boundary in boundaries:
        if boundary != boundaries[0][1]:
            raise InputError(
                f"part {i + 1} has boundary {boundary}, part {boundaries[0][0] + 1} has {boundaries[0][1]}: "
                "expected models of the same tokenizer and boundary"
            )
    return first, boundaries[0][1] if boundaries else None


def _checked(weights: ArrayLike, rows: int, columns: int) -> Floats:
    array = np.atleast_2d(np.array(weights, np.float64))
    if array.shape != (rows, columns):
        expected = f"{columns} weights" if rows == 1 else f"weights [{rows}, {columns}]"
        raise InputError(f"weights of shape {array.shape}: expected {expected}, one a part")
    if not (array >= 0).all() or not (np.abs(array.sum(axis=1) - 1) <= 1e-6).all():
        raise InputError(f"weights {array.tolist()[0] if rows == 1 else array.shape}: expected 0 or more, summing to 1")
    total = array.sum(axis=1, keepdims=True)
    return np.where(np.abs(total - 1) > 1e-12, array / total, array)  # weights made here load as they were stored


def _equal(parts: Sequence[LanguageModel]) -> Floats:
    return np.full(len(parts), 1 / max(len(parts), 1))


def _one_bin(valid: Corpus, parts: Sequence[LanguageModel]) -> NDArray[np.int64]:
    return np.zeros(len(valid.windows(max(part.context for part in parts))), np.int64)


def _held_out(mixture: Mixture, valid: Corpus) -> Floats:
    """What each part gives the held-out tokens, as far as EM sees it: P up to a factor a token, [N, K]."""
    if valid.vocab_size != mixture.vocab_size:
        raise InputError(f"held-out text over {valid.vocab_size} symbols: the models are over {mixture.vocab_size}")
    first = mixture.context if valid.boundary is None else None
    losses = [part.score(valid.windows(part.context, first)) for part in mixture.parts]
    if not len(losses[0]):
        raise InputError(f"{len(valid)} held-out tokens leave nothing to fit on: expected more than {mixture.context}")
    columns = np.stack(losses, axis=1)
    least = columns.min(axis=1, keepdims=True)
    return np.exp(-(columns - np.where(np.isfinite(least), least, 0.0)))
