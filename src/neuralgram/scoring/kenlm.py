"""KenLM's Python interface over any model of this house: change `import kenlm` into `from neuralgram import kenlm`.

Scores are log₁₀, as KenLM's are. A sentence is parted at white space; where the model's tokenizer cuts words further, a
word's score is the sum of its tokens'. `State` holds the last tokens a model reads, which is all there is to remember.

A network always reads a whole window: without a start (`bos=False`) it reads its boundary symbol, as at the start of a
unit, where a back-off table reads nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from os import fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError, TextError
from neuralgram.textmodel import TextModel, load

LN10 = math.log(10)
_REMEMBERED = 1 << 20  # words whose ids are kept
__all__ = ["Config", "FullScoreReturn", "LanguageModel", "LoadMethod", "Model", "State"]


class FullScoreReturn(NamedTuple):
    """What KenLM tells of a word: log₁₀ P, the length of the n-gram it is read from, and whether it is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool


class LoadMethod:
    """KenLM's ways to map a file; all the same here."""

    LAZY = POPULATE_OR_LAZY = POPULATE_OR_READ = READ = PARALLEL_READ = 0


class Config:
    """KenLM's loading options; kept for callers that set them, none changes a score."""

    def __init__(self) -> None:
        self.load_method = LoadMethod.POPULATE_OR_READ
        self.show_progress = False
        self.arpa_complain = None


class State:
    """The tokens read last; made empty, written by `BeginSentenceWrite`, `NullContextWrite` and `BaseScore`."""

    __slots__ = ("ids",)

    def __init__(self) -> None:
        self.ids: tuple[int, ...] = ()

    def __copy__(self) -> State:
        copied = State()
        copied.ids = self.ids
        return copied

    def __deepcopy__(self, memo: object) -> State:
        return self.__copy__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.ids == other.ids

    def __lt__(self, other: State) -> bool:
        return self.ids < other.ids

    def __hash__(self) -> int:
        return hash(self.ids)


class Model:
    """A model directory or ARPA file, asked as KenLM is: `Model(path).score("a sentence")`."""

    def __init__(self, path: str | bytes | Path | TextModel, config: Config | None = None) -> None:
        self.path = path if isinstance(path, str | bytes) else str(path)
        self.text_model = path if isinstance(path, TextModel) else load(_decoded(path))
        self._lm = self.text_model.model
        end = self.text_model.boundary_id
        nothing = self._lm.nothing if self._lm.nothing is not None else end
        if end is None or nothing is None:
            raise InputError(
                f"{_decoded(self.path)}: a stream has no start and end of sentences: train it with --boundary line"
            )
        self._end, self._nothing = end, nothing
        self._tokenizer = self.text_model.tokenizer
        self._known: dict[str, tuple[int, ...]] = {}

    @property
    def order(self) -> int:
        """n: the predicted token and the context before it."""
        return self._lm.context + 1

    def __contains__(self, word: str | bytes) -> bool:
        """Whether the model knows the word; `<s>`, `</s>` as KenLM has them."""
        text = _decoded(word)
        try:
            return text in ("<s>", "</s>") or self._tokenizer.unknown not in self._ids(text)
        except TextError:  # no unknown symbol stands in for it
            return False

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """log₁₀ P of a sentence, with its end where `eos`."""
        ids, _ = self._sentence(sentence, eos)
        return -float(self._nll(ids, bos).sum()) / LN10

    def scores(self, sentences: Sequence[str], bos: bool = True, eos: bool = True) -> NDArray[np.float64]:
        """`score` of many sentences at once, [N]: what a loop over them costs most is gone."""
        found = [self._sentence(sentence, eos)[0] for sentence in sentences]
        if not found:
            return np.zeros(0)
        parts = [self._windows(ids, bos) for ids in found]
        nats = self._lm.context_nll(np.concatenate(parts), np.concatenate(found))
        ends = np.cumsum([len(ids) for ids in found])
        total = np.concatenate([[0.0], np.cumsum(nats)])
        out: NDArray[np.float64] = -(total[ends] - total[ends - [len(ids) for ids in found]]) / LN10
        return out

    def perplexity(self, sentence: str | bytes) -> float:
        """10 to the minus score over the words and the end; KenLM counts words, not tokens."""
        words = len(_decoded(sentence).split()) + 1
        return float(10.0 ** (-self.score(sentence) / words))

    def full_scores(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> Iterator[FullScoreReturn]:
        """Word by word: log₁₀ P, the order it was read from, whether it is unknown."""
        ids, owner = self._sentence(sentence, eos)
        windows = self._windows(ids, bos)
        nats = self._lm.context_nll(windows, ids)
        lengths = self._lm.orders(windows, ids)
        for word in range(owner[-1] + 1 if len(owner) else 0):
            place = np.flatnonzero(owner == word)
            unknown = bool((ids[place] == self._tokenizer.unknown).any())
            yield FullScoreReturn(-float(nats[place].sum()) / LN10, int(lengths[place[0]]), unknown)

    def BaseScore(self, in_state: State, word: str | bytes, out_state: State) -> float:
        """log₁₀ P(word | state); what follows from it is written into `out_state`."""
        return self.BaseFullScore(in_state, word, out_state).log_prob

    def BaseFullScore(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """As `BaseScore`, with the order and whether the word is unknown."""
        text = _decoded(word)
        ids = (self._end,) if text == "</s>" else self._ids(text, first=in_state.ids in ((), (self._end,)))
        total, length, window = 0.0, 0, list(in_state.ids)
        for place, token in enumerate(ids):
            contexts = np.array([self._padded(window)], np.int64).reshape(1, -1)
            target = np.array([token])
            total += float(self._lm.context_nll(contexts, target)[0])
            length = length if place else int(self._lm.orders(contexts, target)[0])
            window.append(token)
        out_state.ids = tuple(window[len(window) - min(len(window), self._lm.context) :])
        return FullScoreReturn(-total / LN10, length, self._tokenizer.unknown in ids)

    def BeginSentenceWrite(self, state: State) -> None:
        """The state at the start of a sentence."""
        state.ids = (self._end,) * min(1, self._lm.context)

    def NullContextWrite(self, state: State) -> None:
        """The state of having read nothing."""
        state.ids = ()

    def __repr__(self) -> str:
        return f"<Model from {_decoded(self.path)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Model, (self.path,)) if not isinstance(self.path, TextModel) else (Model, (self.text_model,))

    def _padded(self, window: Sequence[int]) -> list[int]:
        """The c ids that are read: what is missing before a start is the start again, before nothing it is nothing."""
        c = self._lm.context
        first = self._end if window and window[0] == self._end else self._nothing
        return [first] * (c - len(window)) + list(window[max(0, len(window) - c) :])

    def _windows(self, ids: NDArray[np.int64], bos: bool) -> NDArray[np.int64]:
        c = self._lm.context
        before = np.full(c, self._end if bos else self._nothing, np.int64)
        run = np.concatenate([before, ids])
        return np.lib.stride_tricks.sliding_window_view(run, c + 1)[:, :-1] if len(ids) else np.empty((0, c), np.int64)

    def _nll(self, ids: NDArray[np.int64], bos: bool) -> NDArray[np.float64]:
        return self._lm.context_nll(self._windows(ids, bos), ids)

    def _sentence(self, sentence: str | bytes, eos: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids of a sentence, its end where asked for, and the word each belongs to: that of its last letter."""
        words = _decoded(sentence).split()
        ids, spans = self._tokenizer.encode_with_offsets(" ".join(words))
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])[:-1]
        owner = np.searchsorted(starts, np.asarray(spans).reshape(-1, 2)[:, 1] - 1, side="right") - 1
        if eos:
            ids, owner = np.append(ids, self._end), np.append(owner, len(words))
        return np.asarray(ids, np.int64), owner

    def _ids(self, word: str, *, first: bool = True) -> tuple[int, ...]:
        """The ids of one word; after another one a space stands before it, where tokens hold spaces."""
        text = word if first or self._tokenizer.joiner else " " + word
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[text] = tuple(int(i) for i in self._tokenizer.encode(text))
        return known


LanguageModel = Model


def _decoded(text: str | bytes | Path) -> str:
    if isinstance(text, bytes):
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise TextError(f"byte {error.start} of a sentence is not UTF-8: KenLM's sentences are") from None
    return fspath(text)
