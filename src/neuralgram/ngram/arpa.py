r"""ARPA files, the text form of a back-off table: reading what any estimator wrote, and writing what KenLM loads.

    \data\
    ngram 1=…
    \1-grams:
    log10 P <tab> w <tab> log10 of the back-off weight
    …
    \end\

The boundary symbol is `<s>` where an n-gram begins with it and `</s>` where it ends with it; the unknown symbol is
`<unk>` (`<UNK>` is read too). Logs are to base 10 in the file, natural here; −inf is written −99.

Fields of a line are separated by spaces and tabs, so a symbol that holds white space is written escaped (`escape`):
a space as ▁, others as \t \n \r \v \f \0, and a token that is literally `<s>`, `</s>`, `<unk>` or `<UNK>` gets a \
before it. Two symbols that would be written alike are refused. The reader gives symbols as they are written.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TextIO, cast

import numpy as np

from neuralgram.errors import InputError, TextError
from neuralgram.ngram.arpa_reader import END, LN10, START, UNKNOWN, Arpa, Reader
from neuralgram.ngram.backoff import BackoffTable
from neuralgram.ngram.backoff_model import BackoffModel

_ESCAPES = {" ": "▁", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\v": "\\v", "\f": "\\f", "\0": "\\0"}
KENLM_ORDERS = range(2, 7)  # what KenLM is built to load unless told otherwise


def escape(symbol: str) -> str:
    """How a symbol is written in an ARPA file."""
    if symbol in (START, END, UNKNOWN, UNKNOWN.upper()):
        return "\\" + symbol
    return "".join(_ESCAPES.get(letter, letter) for letter in symbol)


def write_arpa(model: BackoffModel, symbols: Sequence[str], path: str | Path, *, unknown: int | None = None) -> None:
    """Write a model that is a back-off table; `symbols` names each id, gzip where `path` ends in .gz.

    The boundary id is written `<s>` and `</s>` and `unknown` as `<unk>` whatever their symbols are. A stream's file
    has both marks as unigrams of −99, since KenLM asks for them; the reader takes these as no boundary.
    """
    table = model.table
    written = _written(table, symbols, unknown)
    if table.order not in KENLM_ORDERS:
        warnings.warn(
            f"order {table.order}: KenLM loads {KENLM_ORDERS[0]} to {KENLM_ORDERS[-1]} as it is usually built",
            stacklevel=2,
        )
    part = Path(f"{path}.part")
    with _opened(part, "w", zipped=str(path).endswith(".gz")) as file:
        file.writelines(_lines(table, written))
    part.replace(path)


def _written(table: BackoffTable, symbols: Sequence[str], unknown: int | None) -> list[str]:
    V, boundary = table.trie.vocab_size, table.boundary
    if len(symbols) != V:
        raise InputError(f"{len(symbols)} symbols: expected one for each of the model's {V} ids")
    out = [escape(symbol) for symbol in symbols]
    if unknown is not None:
        out[unknown] = UNKNOWN
    if boundary is not None:
        out[boundary] = END
    seen: dict[str, int] = {}
    for i, word in enumerate(out):
        if not word:
            raise InputError(f"the symbol of id {i} is empty: an ARPA file cannot hold it")
        if seen.setdefault(word, i) != i:
            raise InputError(f"ids {seen[word]} and {i} would both be written {word!r}: give their symbols other names")
    return out


def _lines(table: BackoffTable, written: list[str]) -> Iterator[str]:
    trie, boundary = table.trie, table.boundary
    marks = 1 if boundary is not None else 2
    yield "\\data\\\n"
    for k in range(1, table.order + 1):
        yield f"ngram {k}={trie.size(k) + (marks if k == 1 else 0)}\n"
    for k in range(1, table.order + 1):
        yield f"\n\\{k}-grams:\n"
        log_p = np.maximum(table.log_p[k - 1] / LN10, -99.0)
        log_bow = np.maximum(table.log_bow[k - 1] / LN10, -99.0) if k < table.order else np.zeros(len(log_p))
        if k == 1:
            yield f"-99\t{START}\t{log_bow[boundary] if boundary is not None else 0.0:.9g}\n"
            log_bow = log_bow.copy()
            if boundary is None:
                yield f"-99\t{END}\n"
            else:
                log_bow[boundary] = 0.0
        for gram, p, bow in zip(trie.ngrams(k).tolist(), log_p.tolist(), log_bow.tolist(), strict=True):
            words = [written[i] for i in gram]
            if k > 1 and gram[0] == boundary:
                words[0] = START
            yield f"{p:.9g}\t{' '.join(words)}\t{bow:.9g}\n" if bow else f"{p:.9g}\t{' '.join(words)}\n"
    yield "\n\\end\\\n"


def read_arpa(path: str | Path) -> Arpa:
    """Read a file, plain or gzip. What is ambiguous or damaged is a `TextError` with the file and line number.

    Read as meant: CRLF, several spaces or tabs, missing blank lines, text before `\\data\\`, an empty order, −inf,
    decimal commas, a back-off weight missing anywhere or given in the longest order, `<UNK>`. N-grams with `<s>`
    elsewhere than first or `</s>` elsewhere than last can never be asked for and are passed over.
    """
    path = Path(path)
    try:
        with path.open("rb") as start:
            zipped = start.read(2) == b"\x1f\x8b"
        with _opened(path, "r", zipped=zipped) as file:
            return Reader(path, file).read()
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise TextError(f"{path}: {error}: expected an ARPA file in UTF-8, plain or gzip, not cut off") from None


def _opened(path: Path, mode: Literal["r", "w"], *, zipped: bool) -> TextIO:
    """`path` as UTF-8 text whose lines end at \\n alone; a byte order mark is no part of it."""
    encoding = "utf-8-sig" if mode == "r" else "utf-8"
    if zipped:
        return cast(TextIO, gzip.open(path, f"{mode}t", encoding=encoding, newline="\n"))
    return path.open(mode, encoding=encoding, newline="\n")
