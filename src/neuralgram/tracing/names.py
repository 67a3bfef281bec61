"""Naming one number of a model, `H[0][1]`, `hidden.weight[0][1]`, `C[cat][1]`, `b[sat]`; the tokens a trace shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neuralgram.errors import InputError
from neuralgram.tracing.steps import Floats, Index, Namer

if TYPE_CHECKING:
    from neuralgram.tracing.result import SpeaksText

KEYS = {
    "C": "emb.weight",
    "H": "hidden.weight",
    "d": "hidden.bias",
    "U": "out.weight",
    "b": "out.bias",
    "W": "direct.weight",
    "P": "project.weight",
}
LETTERS = {key: letter for letter, key in KEYS.items()}
_PLACE = re.compile(r"\s*([^\[\]=]+?)\s*((?:\[.*?\])*)\s*$", re.DOTALL)


def letter_of(key: str) -> str:
    """The paper's letter of a state-dict key: `hidden.weight` is H, `hidden2.bias` is d2."""
    deeper = re.fullmatch(r"hidden(\d+)\.(weight|bias)", key)
    if deeper:
        return ("H" if deeper[2] == "weight" else "d") + deeper[1]
    return LETTERS.get(key, key)


def key_of(letter: str) -> str:
    """The state-dict key a letter stands for; a key stands for itself."""
    deeper = re.fullmatch(r"([Hd])(\d+)", letter)
    if deeper:
        return f"hidden{deeper[2]}.{'weight' if deeper[1] == 'H' else 'bias'}"
    return KEYS.get(letter, letter)


def split(place: str) -> tuple[str, list[str]]:
    """A name and what stands in its brackets: `H[0][1]` gives ("H", ["0", "1"])."""
    found = _PLACE.fullmatch(place)
    if not found:
        raise InputError(f"{place!r}: expected a name and its indices, such as H[0][1]")
    return found[1], re.findall(r"\[(.*?)\]", found[2], re.DOTALL)


def locate(
    place: str,
    arrays: Mapping[str, Floats],
    row_of: Callable[[str, str], int | None] = lambda name, text: None,
    *,
    letters: bool = True,
    words: Callable[[str], Sequence[str]] = lambda name: (),
) -> tuple[str, Index]:
    """The array and index that `place` names, among `arrays`; `row_of(name, text)` finds rows named by a word.

    With `letters` the paper's letters stand for state-dict keys. `words(name)` are the words a refusal lists.
    """
    given, parts = split(place)
    name = given if given in arrays or not letters else key_of(given)
    if name not in arrays:
        where = "" if given == place.strip() else f" in {place!r}"
        raise InputError(f"{given!r}{where}: expected one of {_names(arrays)}")
    shape = arrays[name].shape
    if len(parts) != len(shape):
        example = given + "[0]" * len(shape)
        raise InputError(
            f"{place!r}: {given} has the shape {list(shape)}, expected {example}" if shape else _plain(given)
        )
    numbers = []
    for axis, (text, size) in enumerate(zip(parts, shape, strict=True)):
        number = _position(text, size, (lambda word: row_of(name, word)) if axis == 0 else _no_word)
        if number is None:
            rows = ", ".join(words(name)) if axis == 0 else ""
            raise InputError(f"[{text}] in {place!r}: expected 0 … {size - 1}{f', or one of {rows}' if rows else ''}")
        numbers.append(number)
    return name, tuple(numbers)


def _plain(name: str) -> str:
    return f"{name} is a single number: expected {name}=… without brackets"


def _no_word(text: str) -> int | None:
    return None


def _position(text: str, size: int, row_of: Callable[[str], int | None]) -> int | None:
    """A row by its number, or by the word it belongs to; in quotes it is always the word."""
    quoted = re.fullmatch(r"\s*(['\"])(.*)\1\s*", text, re.DOTALL)
    if quoted or not re.fullmatch(r"\s*[0-9]+\s*", text):
        return row_of(quoted[2] if quoted else text)
    return int(text) if int(text) < size else None


def parse_changes(texts: Sequence[str], names: Sequence[str] = ()) -> list[tuple[str, float | str]]:
    """`["H[0][1]=0.3", "window[1]=dog"]` as pairs of a place and a number, or a word where it is none.

    `names` are what can be changed, for a refusal to list.
    """
    one_of = f", NAME one of {', '.join(names)}" if names else ""
    pairs: list[tuple[str, float | str]] = []
    for text in texts:
        place, equals, value = text.rpartition("=")
        if not equals or not place.strip() or not value.strip():
            raise InputError(f"{text!r}: expected NAME[INDEX]=NUMBER, such as H[0][1]=0.3{one_of}")
        try:
            pairs.append((place.strip(), float(value.replace("−", "-"))))
        except ValueError:
            pairs.append((place.strip(), value.strip()))
    return pairs


def _names(arrays: Mapping[str, Floats]) -> str:
    return ", ".join(letter_of(name) for name in arrays)


# ---- tokens ----


class Words(NamedTuple):
    """How a trace names tokens, and which it shows: the likeliest `top`, and the target if it is not among them."""

    name: Namer
    shown: tuple[int, ...]
    target: int | None
    units: int

    @property
    def marks(self) -> dict[int, str]:
        """The mark beside the target's row."""
        return {} if self.target is None else {self.target: "target"}


def word_id(model: SpeaksText, text: str) -> int | None:
    """The id whose symbol is `text` or that `text` alone is encoded as; None where there is no such token."""
    if model.boundary_id is not None and text == model.symbol(model.boundary_id):
        return model.boundary_id
    found: int | None = model.tokenizer.atom(text)
    return found


def one_token(model: SpeaksText, text: str) -> int:
    """The single token `text` is, the unknown symbol where the tokenizer has one; else an `InputError`."""
    found = word_id(model, text)
    if found is not None:
        return found
    ids = [int(i) for i in model.tokenizer.encode(text)]
    if len(ids) != 1:
        pieces = " + ".join(repr(model.symbol(i)) for i in ids[:5])
        raise InputError(f"{text!r} is {len(ids)} tokens ({pieces or 'none'}): expected one of the model's vocabulary")
    return ids[0]
