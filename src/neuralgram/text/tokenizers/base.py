"""The contract of a tokenizer: text to ids and back, and a Hugging Face `tokenizer.json` that does the same.

Ids run from 0 to vocab_size − 1. The boundary symbol that closes a unit is no text and so no part of
any tokenizer: its id is `vocab_size`, the first free one.

A tokenizer comes to be in one of three ways, and its class says in which: it is `ready`; or its vocabulary is chosen
from counts (`numbering`, `from_counts`), so that a text is read once; or it learns from the text itself (`train`).
"""

from __future__ import annotations

import codecs
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError, TextError
from neuralgram.text.pieces import Cut, at_line_ends, nowhere
from neuralgram.text.windows import as_ids

UNKNOWN = "<unk>"
UNSEEN = -1  # what `look_up` gives where a symbol is not in the vocabulary and no unknown symbol exists
_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}  # of what a person would not see


class Numbering(Protocol):
    """Text as numbers while its vocabulary is yet to be chosen: each symbol has one, and so has the boundary."""

    @property
    def mark(self) -> int:
        """The number of the boundary."""

    @property
    def line_ends(self) -> Sequence[int]:
        """The numbers that end a line."""

    def cut(self, text: str) -> int:
        """Where a long text may be cut in two without another number coming out (`pieces.Cut`)."""

    def __call__(self, text: str) -> NDArray[Any]:
        """The numbers of `text`."""

    def lines(self, text: str) -> NDArray[Any]:
        """The numbers of `text` with `mark` for every line end."""

    @property
    def size(self) -> int:
        """One more than the largest number so far."""

    def symbol(self, number: int) -> str:
        """The symbol of a number."""


@dataclass(frozen=True)
class NoSettings:
    """Of a tokenizer with nothing to choose."""


class Tokenizer(ABC):
    """Text in, ids out, and back.

    What each object has:

    vocab_size  number of symbols, the boundary symbol not among them
    unknown     id of the unknown symbol `<unk>`, or None where unseen input cannot be met
    loses       why decode(encode(text)) may differ from a text it knows, or None where it cannot
    pieces      the UTF-8 bytes each token stands for, [vocab_size]

    What a class says of its kind, for all who need to know:

    name        its key in `families.TOKENIZERS`
    Settings    what can be chosen when one is made from text, a frozen dataclass
    joiner      what decoding puts between two tokens
    characters  whether a token is a character, or a byte of one: short, and many to a word
    raw         whether it reads the bytes of a file as they are: its line ends, and what is no UTF-8
    by_bytes    whether fractions of a text are fractions of its bytes: where how many tokens it has depends on what
                was learned
    """

    name: ClassVar[str]
    Settings: ClassVar[type[Any]] = NoSettings
    joiner: ClassVar[str] = ""
    characters: ClassVar[bool] = False
    raw: ClassVar[bool] = False
    by_bytes: ClassVar[bool] = False

    def __init__(
        self, symbols: list[str], pieces: list[bytes], *, unknown: int | None = None, loses: str | None = None
    ) -> None:
        self._symbols = symbols
        self.pieces = pieces
        self.vocab_size = len(symbols)
        self.unknown = unknown
        self.loses = loses

    # ---- how it is made ----

    @classmethod
    def settings(cls, options: Mapping[str, Any]) -> Any:
        """The `Settings` of these options; an `InputError` for a name that is none of them."""
        known = [field.name for field in fields(cls.Settings)]
        for name in options:
            if name not in known:
                expected = f"one of {', '.join(known)}" if known else "none"
                raise InputError(f"option {name!r} of the {cls.name} tokenizer: expected {expected}")
        return cls.Settings(**options)

    @classmethod
    def ready(cls) -> Self | None:
        """The one tokenizer of a kind that has nothing to learn."""
        return None

    @classmethod
    def numbering(cls, settings: Any) -> Numbering | None:
        """How text is numbered so that the vocabulary can be chosen from counts of the numbers; None: it cannot."""
        return None

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], held_out: Iterable[str], settings: Any) -> Self:
        """From how often each symbol of the `numbering` occurs; `held_out` are symbols of text that is read later."""
        raise NotImplementedError  # only where there is a numbering

    @classmethod
    @abstractmethod
    def train(cls, pieces: Iterable[str], **options: Any) -> Self:
        """Learned from a text in pieces, with options of `Settings`."""

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: Mapping[str, Any], text: str) -> Self | None:
        """The tokenizer of a `tokenizer.json`, its values and its `text`; None where it is of another make."""

    @abstractmethod
    def to_json(self) -> str:
        """A Hugging Face `tokenizer.json`, which the `tokenizers` library loads by itself."""

    def to_spec(self) -> dict[str, Any]:
        """The values of the `tokenizer.json`."""
        spec: dict[str, Any] = json.loads(self.to_json())
        return spec

    def for_page(self) -> dict[str, Any]:
        """What the script of an exported page needs to cut text as this one does; else an `InputError`."""
        raise InputError(f"the {self.name} tokenizer: a page of its own cannot cut text so; expected another")

    # ---- text to ids ----

    def cut(self, boundary: str) -> Cut:
        """Where a long text may be cut in two without another id coming out."""
        return at_line_ends if boundary == "line" else nowhere

    @abstractmethod
    def look_up(self, text: str) -> NDArray[np.int64]:
        """Ids of `text`, int64 [N], with −1 for what the vocabulary lacks where there is no unknown symbol."""

    @abstractmethod
    def look_up_lines(self, text: str) -> NDArray[np.int64]:
        r"""As `look_up` of every line by itself, with the boundary id, vocab_size, in place of every "\n"."""

    @abstractmethod
    def encode_with_offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids [N] and where each stands, [N, 2]: first character and the one after the last.

        A token that is a part of a character (bytes of a longer UTF-8 sequence) has the offsets of that character.
        """

    @property
    def lossless(self) -> bool:
        """Whether decode(encode(text)) is the text, for every text without unknown symbols."""
        return self.loses is None

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the `tokenizer.json`, in hexadecimal: two tokenizers with one hash give the same ids."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def library(self) -> Any:
        """The same tokenizer as an object of the `tokenizers` library."""
        return library_tokenizer(self.to_json())

    def encode(self, text: str) -> NDArray[np.int64]:
        """Ids of `text`, int64 [N]; `TextError` names the first symbol that the vocabulary lacks."""
        ids = self.look_up(text)
        if self.unknown is None and ids.min(initial=0) < 0:
            self.refuse(text)
        return ids

    def refuse(self, text: str, where: str = "the text", before: int = 0) -> NoReturn:
        """Raises the `TextError` for the first unseen symbol of `text`, which starts at character `before`."""
        ids, offsets = self.encode_unseen(text)
        start, stop = offsets[int(np.flatnonzero(ids < 0)[0])]
        raise TextError(
            f"{text[start:stop]!r} at character {before + start} of {where} is not among the {self.vocab_size} symbols "
            f"of the {self.name} tokenizer: expected text of its symbols (train with an unknown symbol, which a "
            f"minimum count of 2 makes, or with the bytes tokenizer, which reads anything)"
        )

    @abstractmethod
    def encode_unseen(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As `encode_with_offsets`, but with −1 where that would refuse."""

    def decode(self, ids: ArrayLike) -> str:
        """The text of `ids` [N]; bytes that are no UTF-8 are shown as U+FFFD, the unknown symbol as `<unk>`."""
        pieces = self.pieces
        flat = as_ids(ids, self.vocab_size).ravel().tolist()
        return self.joiner.encode().join([pieces[i] for i in flat]).decode("utf-8", "replace")

    def decode_stream(self, ids: Iterable[int], after: str = "") -> Iterator[str]:
        """The text of `ids` one token at a time, a character only once all its bytes are there.

        The strings together are `decode` of the ids as the continuation of `after`: words are parted from it.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        joiner = self.joiner.encode()
        between = joiner if after and not after[-1].isspace() else b""
        for token in ids:
            if not 0 <= token < self.vocab_size:
                raise InputError(f"id {token} is outside the vocabulary: expected 0 … {self.vocab_size - 1}")
            yield decoder.decode(between + self.pieces[token])
            between = joiner
        yield decoder.decode(b"", final=True)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The bytes each token stands for, counted, int64 [vocab_size]."""
        return np.array([len(piece) for piece in self.pieces], np.int64)

    # ---- what a person sees and types ----

    def symbols(self) -> list[str]:
        """What a person is shown for each id, [vocab_size]."""
        return list(self._symbols)

    def symbol(self, token: int) -> str:
        """What a person is shown for one token."""
        if not 0 <= token < self.vocab_size:
            raise InputError(f"id {token} is outside the vocabulary: expected 0 … {self.vocab_size - 1}")
        return self._symbols[token]

    def spelled(self, token: int) -> str:
        """The symbol of one token with signs for what a person would not see (`visible`)."""
        return visible(self.symbol(token))

    def atom(self, typed: str) -> int | None:
        """The one token a person means by what was typed: its symbol, or a text that is encoded as it alone."""
        found = self.id_of(typed)
        if found is not None:
            return found
        ids = self.encode(typed).tolist()
        return ids[0] if len(ids) == 1 and ids[0] != self.unknown else None

    def id_of(self, symbol: str) -> int | None:
        """The id of a symbol as `symbol` shows it, or None."""
        return self._ids.get(symbol)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: i for i, symbol in reversed(list(enumerate(self._symbols)))}

    def save(self, path: str | Path) -> None:
        """Writes the `tokenizer.json`."""
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")


def visible(token: str) -> str:
    """`token` with a sign for each space, line end and tab, an escape for what else does not print, ∅ for nothing.

    >>> visible(" the"), visible("\\n"), visible("\\x07"), visible("")
    ('␣the', '⏎', '\\\\x07', '∅')
    """
    return "".join(_SIGNS.get(c) or (c if c.isprintable() else repr(c)[1:-1]) for c in token) or "∅"


def word_level_symbols(spec: Mapping[str, Any]) -> list[str] | None:
    """The symbols of a word-level `tokenizer.json`, [vocab_size]; None for another kind of model, or ids with gaps."""
    model = spec["model"]
    if model["type"] != "WordLevel":
        return None
    table = {i: symbol for symbol, i in model["vocab"].items()}
    return [table[i] for i in range(len(table))] if sorted(table) == list(range(len(table))) and table else None


def tokenizer_json(model: dict[str, Any], **parts: Any) -> str:
    """A `tokenizer.json`: `model` and what is not None of normalizer, pre_tokenizer and decoder."""
    whole: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
    }
    whole |= {"pre_tokenizer": None, "post_processor": None, "decoder": None} | parts | {"model": model}
    return json.dumps(whole, ensure_ascii=False, indent=1)


def library_tokenizer(text: str) -> Any:
    """`text`, a `tokenizer.json`, as an object of the `tokenizers` library, or a `TextError`."""
    import tokenizers

    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises bare Exceptions
        raise TextError(f"tokenizer.json: the tokenizers library refuses it ({error})") from None
