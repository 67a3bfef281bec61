"""What is refused before a text is read: options that no text could make right, and files that are not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuralgram.errors import InputError
from neuralgram.text.sources import Reading, Source, require
from neuralgram.text.splits import parse_split
from neuralgram.text.tokenizers import options_of, options_of_all


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
    taken = {} if tokenizer.endswith(".json") else options_of(tokenizer)
    found: dict[str, Any] = {}
    for key, takers in options_of_all().items():
        value = given.get(key)
        if value is None or value is False:
            continue
        if key not in taken:
            raise InputError(_refusal(tokenizer, next(iter(takers.values())).option, list(takers)))
        found[taken[key].name] = value
    if vocab_size is not None and any(option.name == "vocab_size" for option in taken.values()):
        found.setdefault("vocab_size", vocab_size)
    return found


def _refusal(tokenizer: str, flag: str, takers: list[str]) -> str:
    if tokenizer.endswith(".json"):
        return f"{flag}: {tokenizer} is a finished tokenizer, which takes no options; leave it out"
    own = [takers[tokenizer].option for takers in options_of_all().values() if tokenizer in takers]
    takes = f"takes {', '.join(own)}" if own else "takes no options"
    return f"{flag}: the {tokenizer} tokenizer {takes}; expected --tokenizer {' or '.join(takers)}, or leave it out"
