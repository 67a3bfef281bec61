"""Tokenizers: `families.TOKENIZERS` names them, `load_tokenizer` reads any `tokenizer.json`.

`chars` for small texts and names, `words` for the paper's experiments, `bpe` for anything larger, `bytes` for
anything at all; `foreign` is one that another program made.
"""

from __future__ import annotations

import json
from pathlib import Path

from neuralgram.errors import NeuralgramError, TextError
from neuralgram.families import TOKENIZERS, member, members
from neuralgram.settings import Described, described
from neuralgram.text.tokenizers.base import UNKNOWN, Tokenizer, library_tokenizer
from neuralgram.text.tokenizers.bpe import Bpe
from neuralgram.text.tokenizers.bytelevel import Bytes
from neuralgram.text.tokenizers.chars import Chars
from neuralgram.text.tokenizers.foreign import Foreign
from neuralgram.text.tokenizers.words import Words

__all__ = [
    "UNKNOWN",
    "Bpe",
    "Bytes",
    "Chars",
    "Foreign",
    "Tokenizer",
    "Words",
    "load_tokenizer",
    "options_of",
    "tokenizer_class",
]


def tokenizer_class(name: str) -> type[Tokenizer]:
    """The tokenizer of a name, or an `InputError` that lists the names."""
    found: type[Tokenizer] = member(TOKENIZERS, name, "unknown tokenizer")
    return found


def options_of(name: str) -> dict[str, Described]:
    """What can be chosen of one tokenizer, by the names that the command's options have."""
    return {option.key: option for option in described(tokenizer_class(name).Settings)}


def load_tokenizer(source: str | Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`: its path, or its text (a string that starts with a brace).

    One of the family where the file is of its make, else a `Foreign`; what cannot be honoured is a `TextError`.
    """
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else _read(Path(source))
    try:
        spec = json.loads(text)
        library_tokenizer(text)  # what the library refuses is refused here, not at the first text
        made = (kind.from_spec(spec, text) for kind in members(TOKENIZERS, "tokenizer").values())
        return next((tokenizer for tokenizer in made if tokenizer is not None), None) or Foreign.from_spec(spec, text)
    except NeuralgramError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TextError(f"tokenizer.json: not a tokenizer ({type(error).__name__}: {error})") from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise TextError(f"{path}: {reason}: expected a tokenizer.json") from None
