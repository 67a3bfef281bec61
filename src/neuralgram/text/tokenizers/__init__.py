"""Tokenizers: `TOKENIZERS` names them, `load_tokenizer` reads any of them from its `tokenizer.json`.

`chars` for small texts and names, `words` for the paper's experiments, `bpe` for anything larger, `bytes` for
anything at all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuralgram.errors import InputError, TextError
from neuralgram.text.tokenizers.base import UNKNOWN, Tokenizer, library_tokenizer
from neuralgram.text.tokenizers.bpe import Bpe
from neuralgram.text.tokenizers.bytelevel import Bytes
from neuralgram.text.tokenizers.chars import EVERY_CHARACTER, Chars
from neuralgram.text.tokenizers.words import PUNCTUATION, Words

__all__ = ["TOKENIZERS", "UNKNOWN", "Bpe", "Bytes", "Chars", "Tokenizer", "Words", "load_tokenizer", "tokenizer_class"]

TOKENIZERS: dict[str, type[Bytes] | type[Chars] | type[Words] | type[Bpe]] = {
    kind.name: kind for kind in (Bytes, Chars, Words, Bpe)
}


def tokenizer_class(name: str) -> type[Bytes] | type[Chars] | type[Words] | type[Bpe]:
    """The tokenizer of a name, or an `InputError` that lists the names."""
    if name not in TOKENIZERS:
        raise InputError(f"unknown tokenizer {name!r}: expected one of {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]


def load_tokenizer(source: str | Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`: its path, or its text (a string that starts with a brace).

    One written by another program loads where it is of the same make: byte-level BPE, or word-level over characters
    or white space. Anything else is a `TextError`.
    """
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else _read(Path(source))
    try:
        spec = json.loads(text)
        tokenizer = _recognise(spec, text)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise TextError(f"tokenizer.json: not a tokenizer ({type(error).__name__}: {error})") from None
    library_tokenizer(text)  # what the library refuses is refused here, not at the first text
    return tokenizer


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise TextError(f"{path}: {reason}: expected a tokenizer.json") from None


def _recognise(spec: dict[str, Any], text: str) -> Tokenizer:
    model, before = spec["model"], spec.get("pre_tokenizer") or {}
    if model["type"] == "BPE" and before.get("type") == "ByteLevel":
        plain = Bytes()
        if before.get("add_prefix_space") or model.get("dropout"):
            raise TextError("tokenizer.json: it adds a space or is random: expected one that reads text as it is")
        return plain if spec == json.loads(plain.to_json()) else Bpe(text)
    if model["type"] != "WordLevel":
        made_by = f"{model['type']} after {before.get('type')}"
        raise TextError(f"tokenizer.json: {made_by} is not read here: expected word-level or byte-level BPE")
    table = {i: symbol for symbol, i in model["vocab"].items()}
    if sorted(table) != list(range(len(table))):
        raise TextError(f"tokenizer.json: {len(table)} tokens whose ids leave gaps: expected 0 … {len(table) - 1}")
    symbols = [table[i] for i in range(len(table))]
    tokenizer: Tokenizer
    if before == EVERY_CHARACTER:
        tokenizer = Chars(symbols)
    else:
        splits = json.dumps(before)
        lowercase = (spec.get("normalizer") or {}).get("type") == "Lowercase"
        tokenizer = Words(symbols, lowercase=lowercase, split_punctuation=json.dumps(PUNCTUATION) in splits)
    if spec != json.loads(tokenizer.to_json()):
        raise TextError(
            f"tokenizer.json: its settings are none of the {tokenizer.name} tokenizer's: expected one written by it"
        )
    return tokenizer
