"""Which symbols a vocabulary keeps, and in which order: by frequency, then by code point.

Nothing depends on the order in which symbols were met, nor on hashing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from neuralgram.errors import InputError, TextError
from neuralgram.settings import check, setting
from neuralgram.text.tokenizers.base import UNKNOWN

# Written in a text, these strings are no ordinary words: they are read as the unknown symbol.
RESERVED = ("<s>", "</s>", UNKNOWN)


@dataclass(frozen=True)
class Limits:
    """What a vocabulary leaves out.

    unknown    whether an unknown symbol exists; "auto": where the cut, a reserved string or held-out text needs it
    """

    min_count: int = setting(1, help="Symbols seen less often become the unknown symbol.")
    max_vocab: int | None = setting(
        None, option="vocab_size", help="At most so many symbols, the unknown symbol among them.", auto="no limit"
    )
    unknown: bool | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        check(self)
        if self.unknown not in (True, False, "auto"):
            raise InputError(f"unknown {self.unknown!r}: expected True, False or 'auto'")
        if self.min_count < 1:
            raise InputError(f"minimum count {self.min_count}: expected 1 (keep everything) or more")
        if self.max_vocab is not None and self.max_vocab < 2:
            raise InputError(f"largest vocabulary {self.max_vocab}: expected at least 2 symbols")


def choose_vocabulary(
    counts: Mapping[str, int], held_out: Iterable[str], limits: Limits
) -> tuple[list[str], int | None]:
    """Symbols in id order, and the id of `<unk>` among them (or None).

    `counts`: how often each symbol occurs in training; `held_out`: the symbols of other text, met later.
    The unknown symbol stands where its own count (all that it replaces) puts it.
    """
    ranked = sorted((-n, s) for s, n in counts.items() if n >= limits.min_count and s not in RESERVED)
    if not ranked:
        raise TextError(f"no symbol occurs {limits.min_count} times: expected some text (or a smaller minimum count)")
    limit = len(ranked) if limits.max_vocab is None else limits.max_vocab
    is_cut = len(ranked) < len(counts) or len(ranked) > limit
    if is_cut and limits.unknown is False:
        raise InputError(
            f"{len(counts)} symbols, of which some are left out, and no unknown symbol to read them as: expected "
            f"unknown True or 'auto', or no cut and no {', '.join(RESERVED)} in the text"
        )
    if limits.unknown is True or (limits.unknown == "auto" and (is_cut or not counts.keys() >= set(held_out))):
        ranked = ranked[: limit - 1] if limits.max_vocab is not None else ranked
        kept = -sum(n for n, _ in ranked)
        ranked = sorted([*ranked, (kept - sum(counts.values()), UNKNOWN)])
    symbols = [s for _, s in ranked]
    return symbols, symbols.index(UNKNOWN) if UNKNOWN in symbols else None
