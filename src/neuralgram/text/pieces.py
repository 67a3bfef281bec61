"""Text in pieces of bounded size, cut where a tokenizer gives the same ids as for the uncut text.

For words and byte-level tokens a cut stands before a space or line end that is itself followed by something else than
white space. There words end, and there a byte-level pre-tokenizer ends a token too (it keeps the last space of a run
with the next word). A run without such a place, a 100 MB word, stays whole.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator

from neuralgram.errors import TextError

PIECE = 1 << 20  # characters

Cut = Callable[[str], int]  # a text → where to cut it, as late as possible; 0 where there is no place


def last_cut(text: str) -> int:
    """The place that suits words and byte-level tokens."""
    end = len(text)
    while end > 0:
        # What ends in white space is not known to go on with a word: look before the last word that is there.
        end = len(text[:end].rstrip())
        at = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end))
        if at <= 0:
            return 0
        if not text[at + 1].isspace():
            return at
        end = at
    return 0


def anywhere(text: str) -> int:
    """For tokenizers that read each character by itself any place will do."""
    return len(text)


def at_line_ends(text: str) -> int:
    """For those that are given each line by itself."""
    return text.rfind("\n") + 1


def nowhere(text: str) -> int:
    """For those of which nothing is known."""
    return 0


def cut_pieces(texts: Iterable[str], size: int = PIECE, *, cut: Cut = last_cut) -> Iterator[str]:
    """The concatenated `texts` in pieces of about `size` characters, none of them empty."""
    kept: list[str] = []  # what came before without a place to cut
    for text in texts:
        for start in range(0, len(text), size):
            piece = text[start : start + size]
            at = cut(piece)
            if at:
                yield "".join([*kept, piece[:at]])
                kept = []
            if at < len(piece):
                kept.append(piece[at:])
    if kept:
        yield "".join(kept)


def unify_line_ends(texts: Iterable[str]) -> Iterator[str]:
    r"""`texts` with "\r\n" and "\r" as "\n", also where a pair is cut in two; no other character ends a line."""
    decoder = io.IncrementalNewlineDecoder(None, translate=True)
    for text in texts:
        yield decoder.decode(text)
    yield decoder.decode("", final=True)


def utf8(text: str, errors: str = "strict") -> bytes:
    """`text` as UTF-8; a `TextError` for a lone surrogate, which is no text.

    `errors="surrogateescape"` makes raw bytes that came in as surrogate escapes those bytes again.
    """
    try:
        return text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise TextError(
            f"{text[error.start]!r} at character {error.start} is no text: expected Unicode characters (replace it)"
        ) from None
