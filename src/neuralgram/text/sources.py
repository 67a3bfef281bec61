"""Where text comes from: files, folders, standard input, JSON lines and the Brown corpus, as documents in pieces.

Memory is bounded by a piece (see `pieces.py`), whatever the size of a file or of its lines. A document is a file, or
one line of a JSON-lines file. Lines end at \\n, \\r\\n or \\r only and all become \\n; a byte order mark is no letter.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from neuralgram.errors import InputError, TextError
from neuralgram.text.pieces import Cut, cut_pieces, last_cut, unify_line_ends

_BLOCK = 1 << 20  # bytes read at once
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_BECOMES = {"replace": "\ufffd", "ignore": ""}
STANDARD_INPUT = "standard input"  # what errors call it
EXPECTED = "expected a file, a folder, or - for standard input"
_BROWN = "expected the Brown corpus as NLTK distributes it (brown.zip)"
_MEMBER = re.compile(r"(?:.*/)?(c[a-r]\d\d)")


class Document(NamedTuple):
    """One document: what errors call it, and its text in pieces."""

    name: str
    pieces: Iterable[str]


class Named(NamedTuple):
    """A file that errors call by another name than its path."""

    path: Path
    name: str


Source = str | Path | Document | Named


@dataclass(frozen=True)
class Reading:
    """How files become text.

    encoding  of the files; `errors`: strict (refuse), replace (U+FFFD) or ignore what is not of it
    field     the field of a JSON line that holds the text; given, every file is read as JSON lines
    raw       take the bytes as they are (for the bytes tokenizer): any is valid, line ends stay
    cut       where pieces may be cut
    """

    encoding: str = "utf-8"
    errors: str = "strict"
    field: str | None = None
    raw: bool = False
    cut: Cut = last_cut

    def __post_init__(self) -> None:
        if self.errors not in ("strict", *_SURROGATE_BECOMES):
            raise InputError(f"errors {self.errors!r}: expected strict, replace or ignore")
        try:
            "".encode(self.encoding)  # refuses what is no encoding of text, such as base64
            codecs.getincrementaldecoder(self.encoding)
        except (LookupError, UnicodeError, ValueError):
            raise InputError(
                f"encoding {self.encoding!r}: expected one Python knows, such as utf-8 or cp1252"
            ) from None


def read_documents(sources: Iterable[Source], reading: Reading | None = None) -> Iterator[Document]:
    """The documents of `sources` in their order; of a folder all files below it, sorted by path, none that is hidden.

    A document's pieces are read while they are taken, so take them before the next document.
    """
    reading = reading or Reading()
    for source in sources:
        if isinstance(source, Document):
            yield Document(source.name, cut_pieces(_clean(source.pieces, reading), cut=reading.cut))
            continue
        for path in _files(source):
            yield from _documents(path, reading)


def require(sources: Iterable[Source]) -> None:
    """Refuse sources that are not there, before any of them is read."""
    for source in sources:
        if not isinstance(source, Document) and str(source) != "-":
            _existing(source.path if isinstance(source, Named) else Path(source))


def text_document(text: str, name: str = "the text") -> Document:
    """A string as a document."""
    return Document(name, [text])


def _files(source: str | Path | Named) -> Iterator[str | Path | Named]:
    if isinstance(source, Named) or str(source) == "-" or not Path(source).is_dir():
        yield source
        return
    path = Path(source)
    inside = [file for file in path.rglob("*") if file.is_file()]
    visible = [f for f in inside if not any(part.startswith(".") for part in f.relative_to(path).parts)]
    if not visible:
        raise TextError(f"{path}: a folder without files: {EXPECTED}")
    yield from sorted(visible, key=lambda file: file.relative_to(path).parts)


def _documents(source: str | Path | Named, reading: Reading) -> Iterator[Document]:
    source, name = source if isinstance(source, Named) else (source, str(source))
    name = STANDARD_INPUT if name == "-" else name
    if name.endswith(".zip"):
        for member, texts in brown_documents(_existing(Path(source))):
            yield Document(f"{name}:{member}", cut_pieces(texts, cut=reading.cut))
        return
    is_json = reading.field is not None or re.search(r"\.(jsonl|ndjson)(\.gz|\.zst)?$", name) is not None
    blocks = _blocks(name, source)
    if not is_json:
        texts = _raw(blocks) if reading.raw else unify_line_ends(_decode(blocks, name, reading))
        yield Document(name, cut_pieces(texts, cut=reading.cut))
        return
    for number, line in enumerate(_lines(_decode(blocks, name, reading)), 1):
        if line.strip():
            text = _field(line, reading, f"{name}, line {number}")
            pieces = cut_pieces(_clean([text], reading), cut=reading.cut)
            yield Document(f"{name}, line {number}", pieces)


def _clean(texts: Iterable[str], reading: Reading) -> Iterator[str]:
    """Text that did not come as bytes: its line ends unified (unless raw) and a byte order mark dropped."""
    return iter(texts) if reading.raw else _without_mark(unify_line_ends(texts))


def _without_mark(texts: Iterable[str]) -> Iterator[str]:
    begun = False
    for text in texts:
        yield text if begun else text.removeprefix("\ufeff")
        begun = begun or bool(text)


def _raw(blocks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for block in blocks:
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


def _decode(blocks: Iterable[bytes], name: str, reading: Reading) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(reading.encoding)(reading.errors)
    read = 0

    def decode(block: bytes, final: bool) -> str:
        waiting = len(decoder.getstate()[0])  # bytes of a character that the last block began
        try:
            return decoder.decode(block, final)
        except UnicodeDecodeError as error:
            raise TextError(
                f"{name}: byte {read - waiting + error.start} is not {reading.encoding} ({error.reason}): expected "
                f"{reading.encoding} text (choose --encoding, --errors replace, or the bytes tokenizer)"
            ) from None
        except UnicodeError as error:  # UTF-16 without its mark, for one: no single byte is wrong
            raise TextError(
                f"{name}: not {reading.encoding} ({error}): expected {reading.encoding} text (choose --encoding)"
            ) from None

    def texts() -> Iterator[str]:
        nonlocal read
        for block in blocks:
            yield decode(block, False)
            read += len(block)
        yield decode(b"", True)

    return _without_mark(texts())


def _lines(texts: Iterable[str]) -> Iterator[str]:
    begun: list[str] = []
    for text in texts:
        first, *others = text.split("\n")
        begun.append(first)
        if others:
            yield "".join(begun)
            yield from others[:-1]
            begun = [others[-1]]
    yield "".join(begun)


def _field(line: str, reading: Reading, where: str) -> str:
    name = reading.field or "text"
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise TextError(f"{where}: not JSON ({error}): expected one object a line with the field {name!r}") from None
    if not isinstance(value, dict) or not isinstance(value.get(name), str):
        found = f"fields {', '.join(map(repr, value))}" if isinstance(value, dict) else type(value).__name__
        raise TextError(f"{where}: {found}: expected an object with a string in the field {name!r} (choose --field)")
    text: str = value[name]
    if reading.errors != "strict":
        return _SURROGATE.sub(_SURROGATE_BECOMES[reading.errors], text)
    if (match := _SURROGATE.search(text)) is not None:
        raise TextError(
            f"{where}: lone surrogate \\u{ord(match.group()):04x} at character {match.start()}: expected Unicode "
            f"characters (choose --errors replace)"
        )
    return text


def _existing(path: Path) -> Path:
    if not path.exists():
        raise TextError(f"no such file: {path}; {EXPECTED}")
    return path


def _blocks(name: str, source: str | Path) -> Iterator[bytes]:
    """The bytes of a file or of standard input, uncompressed; every failure is a `TextError` that names it."""
    if str(source) == "-":
        yield from _read(sys.stdin.buffer)
        return
    try:
        with _existing(Path(source)).open("rb") as file:
            yield from _uncompressed(name, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TextError(f"{name}: not whole gzip data ({error}): expected a complete .gz file") from None
    except OSError as error:
        raise TextError(f"{name}: {error.strerror}: {EXPECTED}") from None


def _uncompressed(name: str, file: IO[bytes]) -> Iterator[bytes]:
    if name.endswith(".gz"):
        with gzip.open(file) as inside:
            yield from _read(inside)
    elif name.endswith(".zst"):
        yield from unzstd(name, _read(file))
    else:
        yield from _read(file)


def _read(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def unzstd(name: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes inside zstd data, which may be several frames; a `TextError` where it is damaged or ends early."""
    import zstandard

    unzstd = zstandard.ZstdDecompressor()
    frame = None  # the frame being read; a file may hold several
    try:
        for block in blocks:
            rest = block
            while rest:
                frame = frame or unzstd.decompressobj()
                yield frame.decompress(rest)
                rest = frame.unused_data
                frame = None if frame.eof else frame
    except zstandard.ZstdError as error:
        raise TextError(f"{name}: not zstd data ({error}): expected a complete .zst file") from None
    if frame is not None:
        raise TextError(f"{name}: the zstd data ends early: expected a complete .zst file")


def brown_documents(path: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """Name and text, paragraph by paragraph, of every file of the Brown corpus (brown.zip): its words without tags.

    A paragraph begins with `<p>`, a sentence is a line. The files are in the order of their names (ca01 … cr09), which
    is that of the categories: as one stream 1 176 859 tokens of 56 058 types.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted((m.group(1), m.group()) for m in map(_MEMBER.fullmatch, archive.namelist()) if m)
            if not members:
                raise TextError(f"{path}: a zip file without members ca01 … cr09: {_BROWN}")
            for name, member in members:
                yield name, _paragraphs(archive.read(member).decode("utf-8"))
    except (zipfile.BadZipFile, UnicodeDecodeError, OSError) as error:
        raise TextError(f"{path}: {error}: {_BROWN}") from None


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        tagged = (line.split() for line in paragraph.split("\n") if line.strip())
        sentences = [" ".join(word.rpartition("/")[0] for word in line) for line in tagged]
        if sentences:
            yield "<p> " + "\n".join(sentences) + "\n"
