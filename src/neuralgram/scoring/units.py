"""Units in and out: the lines of text, JSON-lines and compressed files as bytes, in blocks that know where they end.

A unit is a line, a whole file, or the text in a field of a JSON object; its bytes are never changed, only added to.
Reading holds one block, whatever the size of a file or of its lines: a unit longer than `LONGEST` is broken.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError, TextError
from neuralgram.text.sources import Reading, unzstd

LONGEST = 16 << 20  # bytes of a unit
_READ = 1 << 20
_UNITS, _BYTES = 512, 1 << 18  # of a block: enough to make the cost of passing it on vanish
_JSON = re.compile(r"\.(jsonl|ndjson)(\.gz|\.zst)?$")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PARQUET = re.compile(r"\.(parquet|pq)$")


class Broken(Exception):
    """A unit that cannot be read; the message says why."""


class Source(NamedTuple):
    """A file of units: its path ("-" for standard input), its form, `text`, `document`, `json` or `parquet`, and the
    field or column that holds the text of the last two."""

    path: str
    form: str
    field: str = "text"

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path == "-" else self.path

    @property
    def bytes(self) -> int | None:
        """The size of the file as it lies on disk; None where it is not known before."""
        return None if self.path == "-" else Path(self.path).stat().st_size


class Block(NamedTuple):
    """Some units of one source: the number of the first (from 1), their bytes, and how many bytes of the source, as
    uncompressed, have been read at their end (of Parquet rows). `rows` holds whole rows of Parquet."""

    source: int
    number: int
    units: list[bytes]
    end: int
    rows: bytes = b""


@dataclass(frozen=True)
class Form:
    """How the text of a unit is found in its bytes.

    name      `text`, `document`, `json` or `parquet`
    field     of a JSON object, nested by dots, or the column of Parquet
    encoding  of the bytes, and what to do with those that are not of it: strict, replace, ignore
    adds      names of the fields that will be added; an object that has one already is refused
    """

    name: str = "text"
    field: str = "text"
    encoding: str = "utf-8"
    errors: str = "strict"
    adds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Reading(self.encoding, self.errors)
        if "\n".encode(self.encoding) != b"\n":
            raise InputError(
                f"encoding {self.encoding!r}: lines are found by their bytes; expected utf-8 or another "
                "that holds ASCII as it is"
            )

    def text(self, unit: bytes) -> str:
        """The text to score; `Broken` where there is none."""
        if len(unit) > LONGEST:
            raise Broken(f"longer than {LONGEST >> 20} MiB")
        try:
            text = unit.decode(self.encoding, self.errors)
        except UnicodeError as error:
            raise Broken(f"not {self.encoding}: {getattr(error, 'reason', error)}") from None
        return text if self.name != "json" else self._field(text)

    def _field(self, line: str) -> str:
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Broken(f"not JSON: {error}") from None
        if not isinstance(value, dict):
            raise Broken(f"a JSON {type(value).__name__}, no object")
        for name in self.adds:
            if name in value:
                raise InputError(f"an object has a field {name!r} already: choose other names with --prefix")
        for name in (self.field,) if self.field in value else self.field.split("."):
            if not isinstance(value, dict) or name not in value:
                raise Broken(f"no field {self.field!r}")
            value = value[name]
        if not isinstance(value, str):
            raise Broken(f"field {self.field!r} holds a {type(value).__name__}, no text")
        if "\\u" in line and _SURROGATE.search(value):
            raise Broken(f"field {self.field!r} holds a lone surrogate")
        return value


def sources(paths: Sequence[str], *, unit: str | None = None, field: str | None = None) -> list[Source]:
    """The files named, each with its form; refuses what is not there and forms that cannot go into one output."""
    found = [Source(path, _form(path, unit, field), field or "text") for path in paths or ("-",)]
    for source in found:
        if source.path != "-" and not Path(source.path).is_file():
            raise TextError(
                f"no such file: {source.path}; expected text, JSON lines or Parquet, or - for standard input"
            )
    forms = sorted({source.form for source in found})
    if len(forms) > 1:
        raise InputError(f"{' and '.join(forms)} files together: expected files of one form, or one command for each")
    return found


def _form(path: str, unit: str | None, field: str | None) -> str:
    if _PARQUET.search(path):
        return "parquet"
    if unit == "document":
        return "document"
    return "json" if unit == "json" or field is not None or (unit is None and _JSON.search(path)) else "text"


def line_blocks(source: Source, number: int, *, skip: int = 0, done: int = 0) -> Iterator[Block]:
    """The units of source `number` after the first `done`, which took `skip` bytes, in blocks."""
    if source.form == "document":
        with opened(source) as file:
            data = file.read(LONGEST + 1)
            if not done:
                yield Block(number, 1, [data], len(data))
        return
    units: list[bytes] = []
    end, size, first = skip, 0, done + 1
    for line, length in _lines(source, skip):
        units.append(line)
        size += length
        if len(units) >= _UNITS or size >= _BYTES:
            end += size
            yield Block(number, first, units, end)
            first += len(units)
            units, size = [], 0
    if units:
        yield Block(number, first, units, end + size)


def _lines(source: Source, skip: int) -> Iterator[tuple[bytes, int]]:
    """Lines with their line ends, and their lengths; of a line that is too long only as much as shows that it is."""
    with opened(source) as file:
        _skip(file, skip)
        while block := file.read(_BYTES):
            if not block.endswith(b"\n"):
                block += file.readline(LONGEST + 1)
            for line in io.BytesIO(block):
                length = len(line)
                while not line.endswith(b"\n") and (rest := file.readline(LONGEST + 1)):
                    length += len(rest)
                    line = (line + rest)[: LONGEST + 1]  # noqa: PLW2901
                yield line[: LONGEST + 1], length


def _skip(file: IO[bytes], count: int) -> None:
    if count and file.seekable() and isinstance(file, io.BufferedReader):
        file.seek(count)
        return
    while count > 0 and (block := file.read(min(_READ, count))):
        count -= len(block)


class _Joined(io.RawIOBase):
    """Blocks of bytes, one after another, as a file that is read."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._rest = blocks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = block
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """The bytes of a source, uncompressed; what cannot be read is a `TextError` that names it."""
    try:
        if source.path == "-":
            yield sys.stdin.buffer
        elif source.path.endswith(".gz"):
            with gzip.open(source.path) as unzipped:
                yield io.BufferedReader(unzipped, _READ)
        elif source.path.endswith(".zst"):
            with Path(source.path).open("rb") as packed:
                inside = unzstd(source.name, iter(partial(packed.read, _READ), b""))
                yield io.BufferedReader(_Joined(inside), _READ)
        else:
            with Path(source.path).open("rb", buffering=_READ) as file:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TextError(f"{source.name}: not whole gzip data ({error}): expected a complete .gz file") from None
    except OSError as error:
        raise TextError(f"{source.name}: {error.strerror or error}") from None


def body(unit: bytes) -> tuple[bytes, bytes]:
    r"""A line without its end, and the end: "\n", "\r\n", or nothing at the end of a file."""
    if unit.endswith(b"\r\n"):
        return unit[:-2], b"\r\n"
    return (unit[:-1], b"\n") if unit.endswith(b"\n") else (unit, b"")


# ---- what is said of a unit ----

FIELDS = ("tokens", "unknown", "nats", "perplexity", "bits_per_byte")


class Scored(NamedTuple):
    """The scores of one unit.

    tokens         scored tokens, ends of units among them; `unknown` of them are the unknown symbol
    nats           −log P of all of them together
    perplexity     exp(nats / tokens): NaN where nothing was scored
    bits_per_byte  nats / ln 2 / UTF-8 bytes; NaN where tokenizing loses bytes
    per_token      −log P of each, where asked for
    """

    tokens: int
    unknown: int
    nats: float
    perplexity: float
    bits_per_byte: float
    per_token: NDArray[np.float64] | None = None


def json_number(value: float) -> str:
    """A number as JSON: six digits after the point; "inf" and null as everywhere in this program."""
    if -1e6 < value < 1e6:
        return f"{value:.6f}"
    if math.isnan(value):
        return "null"
    return f"{value:.7g}" if math.isfinite(value) else '"inf"' if value > 0 else '"-inf"'


def cells(scored: Scored, extra: Sequence[tuple[str, str]] = ()) -> list[tuple[str, str]]:
    """Name and JSON value of each field that is added."""
    tokens, unknown, nats, perplexity, bits, per_token = scored
    values = (str(tokens), str(unknown), json_number(nats), json_number(perplexity), json_number(bits))
    found = list(zip(FIELDS, values, strict=True))
    if per_token is not None:
        found.append(("token_nats", f"[{', '.join(map(json_number, per_token.tolist()))}]"))
    return [*found, *extra] if extra else found


def lines_with_scores(units: Sequence[bytes], found: Sequence[Scored]) -> list[bytes]:
    """`with_cells` of many lines of text."""
    return [
        f"{one[0]}\t{one[1]}\t{one[2]:.6f}\t{json_number(one[3])}\t{json_number(one[4])}\t".replace('"', "").encode()
        + (unit if unit.endswith(b"\n") else unit + b"\n")
        for unit, one in zip(units, found, strict=True)
    ]


def with_cells(unit: bytes, form: str, added: Sequence[tuple[str, str]], name: str = "") -> bytes:
    """The unit with fields added: at the end of a JSON object, as columns before a line, as a row for a document."""
    if form == "json":
        own, end = body(unit)
        return _into_object(own, added) + (end or b"\n")
    columns = "\t".join([value for _, value in added]).replace('"', "").encode()
    if form == "document":
        return columns + b"\t" + name.encode("utf-8", "surrogateescape") + b"\n"
    return columns + b"\t" + (unit if unit.endswith(b"\n") else unit + b"\n")


def _into_object(own: bytes, added: Sequence[tuple[str, str]]) -> bytes:
    before = own.rstrip()
    if not before.endswith(b"}"):
        raise Broken("not one JSON object")
    inside = before[:-1].rstrip()
    comma = "" if inside.endswith(b"{") else ", "
    text = ", ".join([f'"{name}": {value}' for name, value in added])
    return inside + (comma + text).encode() + b"}" + own[len(before) :]
