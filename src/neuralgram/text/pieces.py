"""Text in pieces of bounded size, cut where every tokenizer gives the same ids as for the uncut text.

A cut stands before a space or line end that is itself followed by something else than white space. There words end,
and there a byte-level pre-tokenizer ends a token too (it keeps the last space of a run with the next word). A run
without such a place, a 100 MB word, stays whole, unless the tokenizer reads characters by themselves.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

PIECE = 1 << 20  # characters


def last_cut(text: str) -> int:
    """Where to cut `text`, as late as possible; 0 where there is no place."""
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


def cut_pieces(texts: Iterable[str], size: int = PIECE, *, anywhere: bool = False) -> Iterator[str]:
    """The concatenated `texts` in pieces of about `size` characters, none of them empty.

    `anywhere`: for tokenizers that read each character by itself any place will do.
    """
    kept: list[str] = []  # what came before without a place to cut
    for text in texts:
        for start in range(0, len(text), size):
            piece = text[start : start + size]
            at = len(piece) if anywhere else last_cut(piece)
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
