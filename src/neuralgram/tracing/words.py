"""The tokens a trace shows, and finding the one a person means by a string."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuralgram.errors import InputError
from neuralgram.tracing.steps import Namer

if TYPE_CHECKING:
    from neuralgram.tracing.result import SpeaksText


class Words(NamedTuple):
    """How a trace names tokens, and which it shows: the likeliest `top`, and the target if it is not among them."""

    name: Namer
    shown: tuple[int, ...]
    target: int | None
    units: int


def word_id(model: SpeaksText, text: str) -> int | None:
    """The id whose symbol is `text` or that `text` alone is encoded as; None where there is no such token."""
    if model.boundary_id is not None and text == model.symbol(model.boundary_id):
        return model.boundary_id
    found: int | None = model.tokenizer.id_of(text)
    if found is not None:
        return found
    ids = [int(i) for i in model.tokenizer.encode(text)]
    return ids[0] if len(ids) == 1 and ids[0] != model.tokenizer.unknown else None


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
