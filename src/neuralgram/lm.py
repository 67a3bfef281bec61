"""The contract: everything that predicts the next token is a `LanguageModel`.

A model knows ids, never strings, and never pads. It answers two questions about windows of
its `context` tokens, oldest first; scoring, perplexity and generation are written once, here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError
from neuralgram.glance import line, table
from neuralgram.sampling import Chooser, Sampling
from neuralgram.settings import whole
from neuralgram.text.windows import Corpus, Windows, as_ids

if TYPE_CHECKING:
    from neuralgram.explanation import Panel

State = dict[str, NDArray[Any]]


class Size(NamedTuple):
    """How large a model is: so many `numbers` of a `unit` (parameters, n-grams), and `bytes` of arrays in memory."""

    numbers: int
    unit: str
    bytes: int


class TopK(NamedTuple):
    """The k likeliest next tokens of each window, likeliest first: `ids` [B, k], `log_probs` [B, k] in nats."""

    ids: NDArray[np.int64]
    log_probs: NDArray[np.float64]


class LanguageModel(ABC):
    """P(next token | the last `context` tokens), over ids 0 … vocab_size − 1.

    `log_probs` and `context_nll` make a model. A kind that is stored, drawn and explained says more of itself, and
    whoever needs to know asks here, never for the class:

    kind         its name in `families.KINDS`; "model" where it is of no kind that can be stored
    form         whose model.safetensors it is: "tinyllm" is the contract between engines, with real numbers of 32 bits
    vocab_size   V
    context      c, 0 or more
    score_batch  the windows it likes to score at once; results do not depend on it
    boundary     the id that it reads as the end of a unit, None for a stream; `says_boundary` tells whether it has a
                 say in it: a network takes each id as it comes
    parts        the models it is made of
    nothing      −1 where a context may begin with that id for no token: for models that can do with a shorter one
    part_weights λ of the parts where P is their weighted sum: [Q, K], a row a bin of contexts
    """

    kind: ClassVar[str] = "model"
    form: ClassVar[str] = "neuralgram"
    vocab_size: int
    context: int
    score_batch: int = 1024
    boundary: int | None = None
    says_boundary: bool = False
    parts: tuple[LanguageModel, ...] = ()
    nothing: int | None = None
    part_weights: NDArray[np.float64] | None = None

    @abstractmethod
    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Natural log-probabilities [B, V] of every next token after `contexts` [B, c]; rows sum to 1."""

    @abstractmethod
    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context) in nats, float64 [B], exact; `contexts` [B, c], `targets` [B]."""

    @property
    def called(self) -> str:
        """What a message calls it: the estimator's name, or the kind of model."""
        return self.kind if self.kind != "model" else type(self).__name__

    @property
    def summary(self) -> str:
        """What it is, and its sizes, in a line."""
        return f"{type(self).__name__}: V {self.vocab_size}, c {self.context}"

    # ---- what is stored: `from_state(config(), state(), parts)` is the same model ----

    def config(self) -> dict[str, Any]:
        """What was chosen, as JSON values."""
        return {"vocab_size": self.vocab_size, "context": self.context}

    def contract_config(self) -> dict[str, Any]:
        """What config.json holds: what every reader of the format knows, and nothing else."""
        return {"tl_arch": self.kind, "vocab_size": self.vocab_size, "tl_context": self.context}

    def state(self) -> State:
        """What was learned or counted, as arrays by name; the parts' is their own."""
        return {}

    @classmethod
    def from_state(cls, config: Mapping[str, Any], state: State, parts: Sequence[LanguageModel] = ()) -> Self:
        """The model that `config()`, `state()` and `parts` describe; `InputError` where it cannot be stored."""
        raise InputError(f"a {cls.__name__} cannot be loaded: it says nothing of how it is made")

    def size(self) -> Size:
        """How much was learned or counted; of a model made of others, theirs together."""
        found, own = [part.size() for part in self.parts], self.state().values()
        total = sum(a.nbytes for a in own) + sum(size.bytes for size in found)
        if not found:
            return Size(sum(a.size for a in own), "numbers", total)
        units = {size.unit for size in found if size.numbers}
        return Size(sum(size.numbers for size in found), units.pop() if len(units) == 1 else "numbers", total)

    # ---- what can be asked of one window or of many ----

    def top(self, contexts: ArrayLike, k: int) -> TopK:
        """The `k` likeliest next tokens after each of `contexts` [B, c], likeliest first; ties in id order."""
        if whole("k", k) < 1:
            raise InputError(f"k = {k}: expected at least 1")
        log_p_BV = self.log_probs(contexts)
        ids = np.argsort(-log_p_BV, axis=1, kind="stable")[:, :k]
        return TopK(ids, np.take_along_axis(log_p_BV, ids, axis=1))

    def orders(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.int64]:
        """How many tokens each probability is read from, the predicted one included, [B]: c + 1, or where a context
        was never seen fewer."""
        return np.full(len(self.check_windows(contexts, targets)), self.context + 1)

    def seen(self, contexts: ArrayLike) -> NDArray[np.int64] | None:
        """How many of the last tokens of each context [B, c] training saw together, with something after them, [B];
        None where the model keeps no count of it."""
        return None

    def unnormalized(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """About −log P(target | context) in nats, float64 [B], without a sum over V; only of models trained for it."""
        raise InputError(f"a {self.called} model has no scores without the sum over V: score it normalised")

    def explain(self, context: NDArray[np.int64], words: Sequence[int]) -> tuple[Panel, ...]:
        """How P after one window [c] is made, panel by panel, for `words`, the one that matters most first; () where
        there is nothing to show but P."""
        return ()

    def shares(self, context: NDArray[np.int64]) -> NDArray[np.float64]:
        """How much of P after one window [c] comes from each of `parts`, [K]; they sum to 1."""
        return np.full(len(self.parts), 1 / max(len(self.parts), 1))

    def __repr__(self) -> str:
        made = hasattr(self, "vocab_size") and hasattr(self, "context")  # not so in an error on the way
        return line(self) if made else f"<{type(self).__name__}, unfinished>"

    def _repr_html_(self) -> str:
        return table(self)

    def score(self, windows: Windows, batch_size: int | None = None) -> NDArray[np.float64]:
        """−log P in nats of the target of every window, float64 [N], in bounded memory."""
        size = self.score_batch if batch_size is None else batch_size
        if size < 1:
            raise InputError(f"batch size {size}: expected at least 1 window")
        if windows.context != self.context:
            raise InputError(f"windows of {windows.context} tokens: this model reads {self.context}")
        out = np.empty(len(windows), np.float64)
        for start in range(0, len(out), size):
            contexts, targets = windows.slice(start, start + size)
            out[start : start + size] = self.context_nll(contexts, targets)
        return out

    def nll(self, ids: ArrayLike, batch_size: int | None = None) -> NDArray[np.float64]:
        """−log P in nats of ids[c:], float64 [len(ids) − c]; `ids` [T] is read as one stream."""
        flat = as_ids(ids, self.vocab_size)
        if flat.ndim != 1:
            raise InputError(f"ids of shape {flat.shape}: expected one sequence, [T]")
        return self.score(Corpus(flat, self.vocab_size).windows(self.context), batch_size)

    def perplexity(self, ids: ArrayLike) -> float:
        """exp of the mean of `nll(ids)`: the total loss over the number of scored tokens."""
        losses = self.nll(ids)
        if not len(losses):
            raise InputError(f"{len(as_ids(ids))} ids leave nothing to score: expected more than {self.context}")
        return perplexity(float(losses.sum()), len(losses))

    def generate(self, prefix: ArrayLike, n: int, temperature: float = 1.0, seed: int = 0) -> list[int]:
        """The `n` new ids that continue `prefix` (at least c ids; only the last c are read)."""
        if whole("n", n) < 0:
            raise InputError(f"n = {n} tokens to generate: expected 0 or more")
        return list(islice(self.stream(prefix, Sampling(temperature), seed), n))

    def stream(self, prefix: ArrayLike, sampling: Sampling, seed: int) -> Iterator[int]:
        """Endless new ids after `prefix`, drawn by one PCG32(seed); the caller decides where to stop."""
        ids = as_ids(prefix, self.vocab_size)
        if ids.ndim != 1 or len(ids) < self.context:
            raise InputError(f"prompt of {ids.size} ids: expected at least the window, {self.context}")
        return self._stream(ids[len(ids) - self.context :], Chooser(sampling, seed))

    def _stream(self, window: NDArray[np.int64], choose: Chooser) -> Iterator[int]:
        while True:
            token = choose(self.log_probs(window[None, :])[0])
            yield token
            window = np.append(window, token)[1:]

    def check_windows(self, contexts: ArrayLike, targets: ArrayLike | None = None) -> NDArray[np.int64]:
        """`contexts` as int64 [B, c] (and `targets` matched to them), or an `InputError` that says what is wrong."""
        ids = as_ids(contexts, self.vocab_size, 0 if self.nothing is None else self.nothing)
        if ids.ndim != 2 or ids.shape[1] != self.context:
            raise InputError(f"contexts of shape {ids.shape}: expected [B, {self.context}], oldest token first")
        if targets is not None and as_ids(targets, self.vocab_size).shape != (len(ids),):
            raise InputError(f"targets of shape {np.shape(targets)}: expected [{len(ids)}], one a context")
        return ids


def perplexity(total_nats: float, tokens: int) -> float:
    """exp(total/tokens); `inf` where that overflows, `nan` for no tokens."""
    if tokens == 0:
        return float("nan")
    with np.errstate(over="ignore"):
        return float(np.exp(np.float64(total_nats) / tokens))
