"""What is refused before a text is read: options that no text could make right, and files that are not there."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from neuralgram.errors import InputError
from neuralgram.text.sources import Reading, Source, require
from neuralgram.text.splits import parse_split
from neuralgram.text.tokenizers import TOKENIZERS, tokenizer_class

# The options of tokenizers as a user types them, and what the tokenizers call them.
_FLAGS = {
    "vocab_size": ("--vocab-size", ("vocab_size", "max_vocab")),
    "min_count": ("--min-count", ("min_count",)),
    "lowercase": ("--lowercase", ("lowercase",)),
    "split_punctuation": ("--split-punctuation", ("split_punctuation",)),
}


def check_text(given: Mapping[str, Any]) -> None:
    """The sources, how they are read and split, and the tokenizer if one was asked for."""
    sources: list[Source] = [*given["texts"], *(given.get("valid") or ()), *(given.get("test") or ())]
    require(sources)
    how = {name: given[name] for name in ("encoding", "errors", "field") if given.get(name)}
    Reading(**how)
    if given.get("split"):
        parse_split(given["split"])
    if given.get("tokenizer"):
        tokenizer_options(given["tokenizer"], given)


def tokenizer_options(tokenizer: str, given: Mapping[str, Any], vocab_size: int | None = None) -> dict[str, Any]:
    """The options of a tokenizer by its own names; one it does not take is an `InputError` that says who does.

    `vocab_size` is the size to choose where none was asked for.
    """
    taken = _taken(tokenizer)
    found: dict[str, Any] = {}
    for key, (flag, names) in _FLAGS.items():
        value = given.get(key)
        if value is None or value is False:
            continue
        own = [name for name in names if name in taken]
        if not own:
            raise InputError(_refusal(tokenizer, flag, names, taken))
        found[own[0]] = value
    if vocab_size is not None and "vocab_size" in taken:
        found.setdefault("vocab_size", vocab_size)
    return found


def _taken(tokenizer: str) -> list[str]:
    """What the tokenizer's `train` takes; nothing where it is finished."""
    if tokenizer.endswith(".json"):
        return []
    return list(inspect.signature(tokenizer_class(tokenizer).train).parameters)


def _refusal(tokenizer: str, flag: str, names: tuple[str, ...], taken: list[str]) -> str:
    if tokenizer.endswith(".json"):
        return f"{flag}: {tokenizer} is a finished tokenizer, which takes no options; leave it out"
    others = [name for name in TOKENIZERS if any(option in _taken(name) for option in names)]
    own = [own_flag for own_flag, options in _FLAGS.values() if any(option in taken for option in options)]
    takes = f"takes {', '.join(own)}" if own else "takes no options"
    return f"{flag}: the {tokenizer} tokenizer {takes}; expected --tokenizer {' or '.join(others)}, or leave it out"
