"""Building corpora: sources → a tokenizer and the ids of the training, validation and test parts.

Everything is a function of the text, the options and the seed, so the test part of a split can be made again when a
model is evaluated. Memory is bounded where a folder is given; without one the ids are held in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from neuralgram.errors import InputError, TextError
from neuralgram.numbers import spaced
from neuralgram.text.passes import Made, Passes
from neuralgram.text.sources import Reading, Source
from neuralgram.text.splits import PARTS, Split, parse_split
from neuralgram.text.staging import BOUNDARIES, Documents, Staged
from neuralgram.text.store import FORMAT, IdWriter, describe, load_corpus, read_json, write_json
from neuralgram.text.tokenizers import Tokenizer, load_tokenizer, tokenizer_class
from neuralgram.text.windows import Corpus, smallest_dtype

_MANY_LINES, _SHORT_LINE = 100, 40  # names, words, dates: lines that begin and end by themselves
_SENTENCES, _LONG_LINE = (
    0.7,
    300,
)  # the share of lines that end as sentences do; beyond so many bytes they are paragraphs


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

    @property
    def parts(self) -> dict[str, Corpus]:
        """The parts there are, by name."""
        found = {name: getattr(self, name) for name in PARTS}
        return {name: part for name, part in found.items() if part is not None}

    @property
    def hint(self) -> str | None:
        """What to try instead, where a text of short lines is read as one document."""
        text = self.info["texts"]["train"]
        return line_hint(self.boundary, text["lines"], text["bytes"], text.get("sentences", 0.0))

    def part(self, name: str) -> Corpus:
        """The part `train`, `valid` or `test`, or an `InputError` where there is none."""
        if name not in self.parts:
            raise InputError(
                f"part {name!r}: this text has {', '.join(self.parts)} (choose one of them, or split it otherwise)"
            )
        return self.parts[name]


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

    tokenizer   a name of `families.TOKENIZERS`, learned here with its `options`; or a finished one, used as it is
    vocab_from  whether the vocabulary is learned from the training part or from `all` parts (the paper's way)
    folder      where ids are written and memory-mapped (train.bin, …, tokenizer.json, corpora.json); None: in memory
    context     c of the model to come: a part of a stream that is no longer is refused

    Raises `TextError` for text that cannot be read or is too short, with numbers, `InputError` for wrong options.
    """
    split = parse_split(split) if isinstance(split, str) else split
    _check(boundary, split, valid, test, vocab_from)
    texts = {name: given for name, given in zip(PARTS, (sources, valid, test), strict=True) if given is not None}
    with ExitStack() as stack:
        scratch = None
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scratch-", dir=folder)))
        passes = Passes(boundary, split, seed, vocab_from == "all", Reading(encoding, errors, field), scratch)
        if isinstance(tokenizer, Tokenizer):
            made = passes.with_tokenizer(texts, tokenizer)
        else:
            made = passes.learning(texts, tokenizer_class(tokenizer), options or {})
        info: dict[str, Any] = {"boundary": boundary, "split": None if split is None else str(split), "seed": seed}
        info |= {"vocab_from": vocab_from, "texts": {name: _facts(text) for name, text in made.texts.items()}}
        corpora = _write(made, boundary, info, None if folder is None else Path(folder))
    _check_lengths(corpora, context)
    return corpora


def _check(boundary: str, split: Split | None, valid: Any, test: Any, vocab_from: str) -> None:
    if boundary not in BOUNDARIES:
        raise InputError(f"boundary {boundary!r}: expected one of {', '.join(BOUNDARIES)}")
    if vocab_from not in ("train", "all"):
        raise InputError(f"vocabulary from {vocab_from!r}: expected train or all")
    if split is not None and (valid is not None or test is not None):
        raise InputError(f"split {split} and separate files: expected one of the two")


def _facts(text: Staged) -> dict[str, Any]:
    known = {"sha256": text.sha256, "documents": text.documents, "bytes": text.bytes}
    return {**known, "lines": text.lines, "sentences": text.sentences}


def _write(made: Made, boundary: str, info: dict[str, Any], folder: Path | None) -> Corpora:
    tokenizer, parts = made.tokenizer, made.parts
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


def line_hint(boundary: str, lines: int, size: int, sentences: float) -> str | None:
    """What to try where lines so many, so long and so often sentences are read as one document, as if they were not
    units of their own."""
    length = size / max(1, lines)
    short, whole = length < _SHORT_LINE, sentences >= _SENTENCES and length < _LONG_LINE
    if boundary != "document" or lines < _MANY_LINES or not (short or whole):
        return None
    ending = "" if short else f", {100 * sentences:.0f}% of them ending as sentences do"
    average = f"{spaced(lines)} lines of {length:.0f} bytes on average"
    return f"{average}{ending}; if each is a unit of its own, --boundary line"


def _check_lengths(corpora: Corpora, context: int) -> None:
    for name, corpus in corpora.parts.items():
        if len(corpus) <= context and corpora.boundary == "stream":
            raise TextError(
                f"the {name} part has {len(corpus)} tokens, and a stream read {context} at a time scores only those "
                f"after the first {context}: expected more (give more text, a smaller context, or a boundary)"
            )
