"""What every counting model is: a `LanguageModel` made of arrays and a few choices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError, ModelDirError
from neuralgram.families import ESTIMATORS, member
from neuralgram.lm import LanguageModel, Size
from neuralgram.ngram.counts import whole
from neuralgram.ngram.counts_on_disk import LEAST
from neuralgram.ngram.trie import Trie, require_order
from neuralgram.settings import check, read, setting

State = dict[str, NDArray[Any]]
Config = dict[str, Any]


@dataclass(frozen=True)
class Counting:
    """The options of every estimator; its own `Settings` add to them."""

    memory_limit: int | None = setting(
        None,
        help="Count within so much memory, on disk beyond it.",
        unit="bytes",
        low=LEAST,
        option="memory",
        auto="all in memory",
        refused=f"memory limit of {{value}} bytes: expected at least {LEAST} (1 MiB)",
    )

    def __post_init__(self) -> None:
        check(self)


class NgramModel(LanguageModel):
    """A counting model. Each has a `fit(corpus, order, …)` of its own; `state` and `config` make it again.

    smoothing  its name in `families.ESTIMATORS`
    Settings   the options of its `fit`, but for the texts
    order      n; `context` is n − 1
    boundary   the id that is `<s>` before a unit and `</s>` after it, or None for streams
    """

    kind: ClassVar[str] = "ngram"
    smoothing: ClassVar[str]
    score_batch = 65536
    says_boundary = True
    Settings: ClassVar[type[Counting]] = Counting
    fit: ClassVar[Callable[..., NgramModel]]

    @classmethod
    def check(cls, order: int, **options: Any) -> None:
        """Refuse an order, and values of the options, that no text could make right."""
        require_order(order)
        read(cls.Settings, {name: value for name, value in options.items() if name != "valid"}, cls.smoothing)

    @property
    def called(self) -> str:
        """The estimator's name."""
        return self.smoothing

    @property
    def summary(self) -> str:
        """The estimator, its order and its vocabulary, in a line."""
        return f"a counting model: {self.smoothing}, order {self.order}, V {self.vocab_size}"

    @property
    def order(self) -> int:
        """n: the predicted token and the context before it."""
        return self.context + 1

    @abstractmethod
    def state(self) -> State:
        """What was counted or learned, as arrays."""

    @abstractmethod
    def config(self) -> Config:
        """What was chosen, as JSON values; `smoothing`, `order`, `vocab_size` and `boundary` are among them."""

    @classmethod
    @abstractmethod
    def restored(cls, config: Config, state: State) -> Self:
        """The model of this estimator that `config()` and `state()` describe."""

    @classmethod
    def from_state(cls, config: Mapping[str, Any], state: State, parts: Sequence[LanguageModel] = ()) -> Self:
        """The model that `config()` and `state()` describe, whichever estimator made it."""
        try:
            made = member(ESTIMATORS | _READ, config.get("smoothing"), "a stored n-gram model of smoothing")
        except InputError as error:
            raise ModelDirError(str(error)) from None
        found: Self = made.restored(dict(config), state)
        return found

    def seen(self, contexts: ArrayLike) -> NDArray[np.int64] | None:
        """How many of the last tokens of each context [B, c] are counted together, with something after them, [B]."""
        windows, trie = self.check_windows(contexts), self._trie
        nodes = trie.contexts(windows)
        found = np.empty(windows.shape, np.bool_)
        for j in range(1, self.order):
            node, starts = nodes[:, j], trie.starts[j]
            found[:, j - 1] = (node >= 0) & (starts[node + 1] > starts[node])
        together: NDArray[np.int64] = np.logical_and.accumulate(found, axis=1).sum(axis=1)
        return np.minimum(together, whole(windows, self.boundary))

    @cached_property
    def _trie(self) -> Trie:
        return Trie.from_state(self.vocab_size, self.order, self.state())

    def size(self) -> Size:
        """The n-grams of all orders that are listed; of a class model those of classes."""
        state = self.state()
        first = len(state["log_p.1"]) if "log_p.1" in state else self.vocab_size
        listed = sum(len(array) for name, array in state.items() if name.startswith("keys."))
        return Size(first + listed, "n-grams", sum(array.nbytes for array in state.values()))

    def chosen(self, **options: Any) -> Config:
        """`config()` of this model, given the options only it has."""
        base = {"smoothing": self.smoothing, "order": self.order, "vocab_size": self.vocab_size}
        return base | {"boundary": self.boundary} | options


_READ = {"arpa": "neuralgram.ngram.backoff_model:BackoffModel"}  # estimated by others


def sizes(config: Config) -> tuple[int, int, int | None]:
    """vocab_size, order and boundary of a stored model, or a `ModelDirError`."""
    try:
        V, order, boundary = config["vocab_size"], config["order"], config["boundary"]
    except KeyError as error:
        raise ModelDirError(
            f"a stored n-gram model without {error}: the file is damaged, make the model again"
        ) from None
    if not (isinstance(V, int) and isinstance(order, int) and V >= 1 and 1 <= order <= 20):
        raise ModelDirError(
            f"a stored n-gram model of vocab_size {V!r}, order {order!r}: expected whole numbers from 1"
        )
    if boundary is not None and not (isinstance(boundary, int) and 0 <= boundary < V):
        raise ModelDirError(f"a stored n-gram model with boundary {boundary!r}: expected null or an id below {V}")
    return V, order, boundary


def log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithm, −inf at 0 without a warning."""
    with np.errstate(divide="ignore"):
        out: NDArray[np.float64] = np.log(probabilities)
    return out
