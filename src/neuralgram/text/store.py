"""Ids on disk: an array in the smallest dtype (`.bin`) beside a small JSON that says what it is, memory-mapped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import TextError
from neuralgram.text.windows import Corpus, Ids, smallest_dtype

FORMAT = 1


class IdWriter:
    """Collects ids block by block, in a file or (without a path) in memory; `close` gives them as one array.

    Used with `with`, it leaves no file open where something else fails.
    """

    def __init__(self, path: Path | None, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype.newbyteorder("<")
        self._path = path
        self._blocks: list[Ids] = []
        self._file = None if path is None else path.open("wb")
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, ids: Ids) -> None:
        """Adds ids [N], each small enough for the dtype."""
        block = ids.astype(self._dtype)
        self.count += len(block)
        if self._file is None:
            self._blocks.append(block)
        else:
            self._file.write(block.data)  # `tofile` says nothing of a full disk

    def close(self) -> Ids:
        """All ids [count], memory-mapped where they are in a file."""
        if self._file is None or self._path is None:
            return np.concatenate([np.empty(0, self._dtype), *self._blocks])
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())
        return map_ids(self._path, self._dtype, self.count)


def map_ids(path: Path, dtype: np.dtype[Any], count: int) -> Ids:
    """`count` ids of a file, memory-mapped and read-only."""
    if count == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r", shape=(count,))


def describe(path: Path, corpus: Corpus, tokenizer_hash: str) -> None:
    """Writes the JSON beside `path`, a `.bin` with the ids of `corpus`; it comes last, so its ids are whole."""
    story = {"format": FORMAT, "count": len(corpus), "dtype": corpus.ids.dtype.newbyteorder("<").str}
    story |= {"vocab_size": corpus.vocab_size, "boundary": corpus.boundary, "tokenizer": tokenizer_hash}
    write_json(path.with_suffix(".json"), story)


def write_json(path: Path, story: dict[str, Any]) -> None:
    """Writes a JSON file that is there whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(story, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object written by `write_json`, or a `TextError`."""
    try:
        story = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TextError(f"{path}: {error.strerror}: expected a stored corpus") from None
    except ValueError as error:
        raise TextError(f"{path}: not JSON ({error}): expected a stored corpus; build it again") from None
    if not isinstance(story, dict) or story.get("format") != FORMAT:
        raise TextError(f"{path}: expected a stored corpus of format {FORMAT}; build it again")
    return story


def save_corpus(corpus: Corpus, path: str | Path, tokenizer_hash: str) -> None:
    """Stores `corpus` as `path` (a name ending in .bin) and the JSON beside it."""
    path = Path(path).with_suffix(".bin")
    writer = IdWriter(path, smallest_dtype(corpus.vocab_size))
    for start in range(0, len(corpus), 1 << 20):
        writer.append(corpus.ids[start : start + (1 << 20)])
    describe(path, Corpus(writer.close(), corpus.vocab_size, corpus.boundary), tokenizer_hash)


def load_corpus(path: str | Path, tokenizer_hash: str | None = None) -> Corpus:
    """A stored corpus, memory-mapped; refused where it is not whole or was made with another tokenizer."""
    path = Path(path).with_suffix(".bin")
    story = read_json(path.with_suffix(".json"))
    try:
        count, dtype, vocab_size = int(story["count"]), np.dtype(story["dtype"]), int(story["vocab_size"])
        boundary = None if story["boundary"] is None else int(story["boundary"])
        found = path.stat().st_size
    except (KeyError, TypeError, ValueError) as error:
        raise TextError(f"{path.with_suffix('.json')}: {error}: expected a stored corpus; build it again") from None
    except OSError as error:
        raise TextError(f"{path}: {error.strerror}: expected the ids of a stored corpus; build it again") from None
    if dtype.kind != "u" or dtype.itemsize * count != found:
        raise TextError(f"{path}: {found} bytes: expected {count} ids of {dtype.itemsize} bytes; build it again")
    if tokenizer_hash is not None and story.get("tokenizer") != tokenizer_hash:
        raise TextError(f"{path}: made with another tokenizer: expected the one with hash {tokenizer_hash[:12]}…")
    return Corpus(map_ids(path, dtype, count), vocab_size, boundary)


def blocks(ids: Ids, size: int = 1 << 20) -> Any:
    """`ids` in slices of at most `size`."""
    return (ids[start : start + size] for start in range(0, len(ids), size))


def positions(ids: Ids, value: int) -> NDArray[np.int64]:
    """Where `ids` equal `value`, int64, found block by block."""
    found = [np.flatnonzero(block == value) + i * (1 << 20) for i, block in enumerate(blocks(ids))]
    return np.concatenate([np.empty(0, np.int64), *found])
