"""Building corpora: sources → a tokenizer and the ids of the training, validation and test parts.

Everything is a function of the text, the options and the seed, so the test part of a split can be made again when a
model is evaluated. Memory is bounded where a folder is given; without one the ids are held in memory.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from neuralgram.errors import InputError, TextError
from neuralgram.text.pieces import unify_line_ends
from neuralgram.text.second_pass import choose_tokenizer, respool, texts_of
from neuralgram.text.sources import Document, Reading, Source, read_documents
from neuralgram.text.splits import PARTS, Split, parse_split
from neuralgram.text.staging import BOUNDARIES, Documents, Part, Reader, Staged, TokenReader, parts_of, stage
from neuralgram.text.store import FORMAT, IdWriter, describe, load_corpus, read_json, write_json
from neuralgram.text.tokenizers import Bpe, Bytes, Chars, Tokenizer, Words, load_tokenizer, tokenizer_class
from neuralgram.text.windows import Corpus, smallest_dtype

Files = dict[str, Iterable[Document]]


@dataclass(frozen=True)
class Corpora:
    """A tokenizer and the parts of a text as ids.

    boundary  `stream`, `line` or `document`; valid, test: None where there is no such part
    info      what the parts were made of: split, seed, and of each text SHA-256, documents, bytes, lines (JSON values)
    documents   part → where its documents begin, for streams and whole texts built here and not too many documents
    """

    tokenizer: Tokenizer
    boundary: str
    train: Corpus
    valid: Corpus | None
    test: Corpus | None
    info: dict[str, Any]
    documents: dict[str, Documents] = field(default_factory=dict)

    @property
    def vocab_size(self) -> int:
        """V, the boundary symbol included."""
        return self.train.vocab_size

    def part(self, name: str) -> Corpus:
        """The part `train`, `valid` or `test`, or an `InputError` where there is none."""
        found: Corpus | None = getattr(self, name) if name in PARTS else None
        if found is None:
            there = ", ".join(part for part in PARTS if getattr(self, part) is not None)
            raise InputError(f"part {name!r}: this text has {there} (choose one of them, or split it otherwise)")
        return found


def build_corpora(
    sources: Sequence[Source],
    *,
    valid: Sequence[Source] | None = None,
    test: Sequence[Source] | None = None,
    tokenizer: str | Tokenizer = "chars",
    options: Mapping[str, Any] | None = None,
    boundary: str = "document",
    split: str | Split | None = None,
    vocab_from: Literal["train", "all"] = "train",
    seed: int = 0,
    encoding: str = "utf-8",
    errors: str = "strict",
    field: str | None = None,
    folder: str | Path | None = None,
    context: int = 0,
) -> Corpora:
    """The corpora of `sources`, split by `split`, or with separate `valid` and `test` sources.

    tokenizer   a name of `TOKENIZERS`, learned here with its `options`; or a finished one, used as it is
    vocab_from  whether the vocabulary is learned from the training part or from `all` parts (the paper's way)
    folder      where ids are written and memory-mapped (train.bin, …, tokenizer.json, corpora.json); None: in memory
    context     c of the model to come: a part of a stream that is no longer is refused

    Raises `TextError` for text that cannot be read or is too short, with numbers, `InputError` for wrong options.
    """
    split = parse_split(split) if isinstance(split, str) else split
    _check(boundary, split, valid, test, vocab_from)
    kind = type(tokenizer) if isinstance(tokenizer, Tokenizer) else tokenizer_class(tokenizer)
    raw = kind is Bytes
    reading = Reading(encoding, errors, field, raw=raw, anywhere=kind is not Words)
    files = {
        name: _documents(given, reading, raw and boundary == "line")
        for name, given in zip(PARTS, (sources, valid, test), strict=True)
        if given is not None
    }
    with ExitStack() as stack:
        scratch = None
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scratch-", dir=folder)))
        builder = _Builder(boundary, split, seed, vocab_from, scratch)
        made, texts, parts = builder.build(files, tokenizer, dict(options or {}))
        info: dict[str, Any] = {"boundary": boundary, "split": None if split is None else str(split), "seed": seed}
        info |= {"vocab_from": vocab_from, "texts": {name: _facts(text) for name, text in texts.items()}}
        corpora = _write(parts, made, boundary, info, None if folder is None else Path(folder))
    _check_lengths(corpora, context)
    return corpora


def _check(boundary: str, split: Split | None, valid: Any, test: Any, vocab_from: str) -> None:
    if boundary not in BOUNDARIES:
        raise InputError(f"boundary {boundary!r}: expected one of {', '.join(BOUNDARIES)}")
    if vocab_from not in ("train", "all"):
        raise InputError(f"vocabulary from {vocab_from!r}: expected train or all")
    if split is not None and (valid is not None or test is not None):
        raise InputError(f"split {split} and separate files: expected one of the two")


def _documents(sources: Sequence[Source], reading: Reading, unify: bool) -> Iterable[Document]:
    found = read_documents(sources, reading)
    return (Document(name, unify_line_ends(pieces)) for name, pieces in found) if unify else found


@dataclass(frozen=True)
class _Builder:
    """What `build_corpora` was asked for, without the text."""

    boundary: str
    split: Split | None
    seed: int
    vocab_from: str
    scratch: Path | None

    def build(
        self, files: Files, tokenizer: str | Tokenizer, options: dict[str, Any]
    ) -> tuple[Tokenizer, dict[str, Staged], dict[str, Part]]:
        """The tokenizer, the staged texts, and their parts in its ids."""
        if isinstance(tokenizer, Tokenizer):
            return self._finished(files, tokenizer)
        kind = tokenizer_class(tokenizer)
        _check_options(kind, options)
        if issubclass(kind, Bytes):
            return self._finished(files, Bytes())
        if issubclass(kind, Bpe):
            return self._byte_pairs(files, options)
        atoms = kind.atoms(**options)
        texts = self._stage(files, atoms, np.dtype(np.uint32))
        parts = self._parts(texts, line_ends=[ord("\n")] if kind is Chars else [])
        made, table = choose_tokenizer(kind, atoms, self._learned_from(parts), parts, options)
        return made, texts, {name: part.mapped(table) for name, part in parts.items()}

    def _finished(self, files: Files, tokenizer: Tokenizer) -> tuple[Tokenizer, dict[str, Staged], dict[str, Part]]:
        texts = self._stage(files, TokenReader(tokenizer), smallest_dtype(tokenizer.vocab_size + 1))
        line_ends = [i for i, piece in enumerate(tokenizer.pieces) if piece.endswith(b"\n")]
        lengths = np.array([len(piece) for piece in tokenizer.pieces]) if isinstance(tokenizer, Bpe) else None
        return tokenizer, texts, self._parts(texts, lengths=lengths, line_ends=line_ends)

    def _byte_pairs(
        self, files: Files, options: dict[str, Any]
    ) -> tuple[Tokenizer, dict[str, Staged], dict[str, Part]]:
        """Byte-pair merges are learned on bytes of the training part, then the whole text is encoded.

        Where the training part is a count of tokens it has at least as many bytes, so the first so many bytes are safe.
        """
        spools = self._stage(files, TokenReader(Bytes()), np.dtype(np.uint16))
        parts = self._parts(spools, line_ends=[ord("\n")])
        made = Bpe.train(texts_of(self._learned_from(parts)), **options)
        again: Files = {name: respool(spool) for name, spool in spools.items()}
        _, _, parts = self._finished(again, made)
        return made, spools, parts

    def _learned_from(self, parts: dict[str, Part]) -> list[Part]:
        return [parts["train"]] if self.vocab_from == "train" else list(parts.values())

    def _stage(self, files: Files, reader: Reader, dtype: np.dtype[Any]) -> dict[str, Staged]:
        texts = {}
        for name, documents in files.items():
            path = None if self.scratch is None else self.scratch / f"{name}-{type(reader).__name__}-{reader.mark}"
            with IdWriter(path, dtype) as writer:
                texts[name] = stage(documents, reader, self.boundary, writer)
            if texts[name].tokens == 0:
                called = "the text" if len(files) == 1 else f"the {name} text"
                raise TextError(f"{called} holds no token: expected at least one; is it the right file, and not empty?")
        return texts

    def _parts(self, texts: dict[str, Staged], **how: Any) -> dict[str, Part]:
        if self.split is None:
            return {name: Part(text.ids, mark=text.mark, documents=text.places) for name, text in texts.items()}
        return parts_of(texts["train"], self.split, self.seed, **how)


def _check_options(kind: Any, options: dict[str, Any]) -> None:
    known = [name for name in inspect.signature(kind.train).parameters if name not in ("pieces", "held_out")]
    for name in options:
        if name not in known:
            expected = f"one of {', '.join(known)}" if known else "none"
            raise InputError(f"option {name!r} of the {kind.name} tokenizer: expected {expected}")


def _facts(text: Staged) -> dict[str, Any]:
    return {"sha256": text.sha256, "documents": text.documents, "bytes": text.bytes, "lines": text.lines}


def _write(
    parts: dict[str, Part], tokenizer: Tokenizer, boundary: str, info: dict[str, Any], folder: Path | None
) -> Corpora:
    V = tokenizer.vocab_size + (boundary != "stream")
    closing = None if boundary == "stream" else tokenizer.vocab_size
    corpora = {}
    for name, part in parts.items():
        path = None if folder is None else folder / f"{name}.bin"
        writer = IdWriter(path, smallest_dtype(V))
        for block in part.blocks():
            writer.append(block)
        corpora[name] = Corpus(writer.close(), V, closing)
        if path is not None:
            describe(path, corpora[name], tokenizer.hash)
    if folder is not None:
        tokenizer.save(folder / "tokenizer.json")
        story = {"format": FORMAT, "tokenizer": tokenizer.hash, "parts": list(parts), "info": info}
        write_json(folder / "corpora.json", story)
    places = {name: part.documents for name, part in parts.items() if part.documents is not None}
    return Corpora(tokenizer, boundary, corpora["train"], corpora.get("valid"), corpora.get("test"), info, places)


def load_corpora(folder: str | Path) -> Corpora:
    """What `build_corpora` wrote into a folder, memory-mapped; a `TextError` where files do not belong together."""
    folder = Path(folder)
    story = read_json(folder / "corpora.json")
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    if tokenizer.hash != story.get("tokenizer"):
        raise TextError(f"{folder}: tokenizer.json is not the one its corpora were made with; build them again")
    parts = {name: load_corpus(folder / name, tokenizer.hash) for name in story["parts"]}
    info = story["info"]
    return Corpora(tokenizer, info["boundary"], parts["train"], parts.get("valid"), parts.get("test"), info)


def encode_units(tokenizer: Tokenizer, boundary: str, texts: Iterable[str]) -> Corpus:
    """Strings as a corpus in memory: each is a document, read as a file of that text would be."""
    documents = (Document("the text", [text]) for text in texts)
    reading = Reading(
        raw=isinstance(tokenizer, Bytes) and boundary != "line", anywhere=not isinstance(tokenizer, Words)
    )
    V = tokenizer.vocab_size + (boundary != "stream")
    writer = IdWriter(None, smallest_dtype(tokenizer.vocab_size + 1))
    staged = stage(read_documents(documents, reading), TokenReader(tokenizer), boundary, writer)
    return Corpus(staged.ids, V, None if boundary == "stream" else tokenizer.vocab_size)


def _check_lengths(corpora: Corpora, context: int) -> None:
    for name in PARTS:
        corpus: Corpus | None = getattr(corpora, name)
        if corpus is not None and len(corpus) <= context and corpora.boundary == "stream":
            raise TextError(
                f"the {name} part has {len(corpus)} tokens, and a stream read {context} at a time scores only those "
                f"after the first {context}: expected more (give more text, a smaller context, or a boundary)"
            )
