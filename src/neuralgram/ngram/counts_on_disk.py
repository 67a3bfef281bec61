"""Counting a corpus larger than the memory allowed: sorted runs on disk, merged order by order.

The text is read in chunks that fit. For each order a chunk leaves its distinct keys as one sorted run, and where
each of its tokens stands in that run; the runs are merged block by block; then every token's place among all
n-grams of the order is written down, for the next order to build on. The counts are memory-mapped, from files in
the temporary folder (TMPDIR) that vanish with the process. A text that fits is one run, and takes `ends` and `group`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.ngram.trie import Ints
from neuralgram.text.windows import Corpus, as_ids

BYTES_PER_TOKEN = 96  # what counting one order of a chunk takes at its peak
LEAST = 1 << 20  # below this a limit would mean thousands of runs


class Order(NamedTuple):
    """The n-grams of one order: sorted keys, counts and suffixes, [N] each, memory-mapped."""

    keys: Ints
    counts: Ints
    suffixes: Ints


def chunk_of(memory_limit: int | None) -> int:
    """How many tokens are counted at once within so many bytes; all that there can be without a limit."""
    if memory_limit is None:
        return sys.maxsize
    if memory_limit < LEAST:
        raise InputError(f"memory limit of {memory_limit} bytes: expected at least {LEAST} (1 MiB)")
    return memory_limit // BYTES_PER_TOKEN


def orders(corpus: Corpus, order: int, chunk: int) -> tuple[Ints, list[Order]]:
    """Unigram counts [V] (the boundary counted where it ends a unit) and the n-grams of orders 2 … `order`."""
    with tempfile.TemporaryDirectory(prefix="neuralgram-", ignore_cleanup_errors=True) as folder:
        work = _Work(corpus, Path(folder), chunk)
        return work.unigrams(), [work.count(k, last=k == order) for k in range(2, order + 1)]


def replaced(corpus: Corpus, table: Ints, dtype: np.dtype[Any], chunk: int) -> NDArray[Any]:
    """`table` [V] looked up for every token of a corpus, [T], in a file that vanishes with the process."""
    with tempfile.TemporaryDirectory(prefix="neuralgram-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "replaced"
        with path.open("wb") as file:
            for start in range(0, len(corpus), chunk):
                _write(file, table[as_ids(corpus.ids[start : start + chunk], len(table))].astype(dtype))
        return _mapped(path, dtype)


class _Run(NamedTuple):
    """One chunk's distinct keys with their counts and suffixes, and the place [M] of its tokens in it."""

    keys: Ints
    counts: Ints
    suffixes: Ints
    place: Ints


class _Work:
    """The corpus in chunks, and beside it a file of the node of every token in the order counted last."""

    def __init__(self, corpus: Corpus, folder: Path, chunk: int) -> None:
        self.corpus, self.folder, self.chunk = corpus, folder, chunk
        self.lead = 0 if corpus.boundary is None else 1  # the `<s>` before the first token
        self.length = len(corpus) + self.lead
        self.nodes: Ints | None = None

    def tokens(self, start: int, stop: int) -> Ints:
        """Tokens start … stop − 1 of the text with its leading `<s>`, int64."""
        ids = as_ids(self.corpus.ids[max(start - self.lead, 0) : stop - self.lead], self.corpus.vocab_size)
        first = self.corpus.boundary
        return ids if start > 0 or first is None else np.append(np.int64(first), ids)

    def spans(self) -> Iterator[tuple[int, int]]:
        """The chunks, each with the last token of the one before."""
        for start in range(0, self.length, self.chunk):
            yield max(start - 1, 0), min(start + self.chunk, self.length)

    def unigrams(self) -> Ints:
        """How often each token occurs, [V]."""
        V = self.corpus.vocab_size
        parts = range(self.lead, self.length, self.chunk)
        counted = (np.bincount(self.tokens(i, min(i + self.chunk, self.length)), minlength=V) for i in parts)
        return np.asarray(sum(counted), np.int64)

    def keyed(self, k: int, start: int, stop: int) -> tuple[Ints, Ints, Ints]:
        """Where k-grams end in a span, their keys, and the nodes of the span's tokens in the order below."""
        tokens = self.tokens(start, stop)
        nodes = tokens if self.nodes is None else np.asarray(self.nodes[start:stop])
        at = ends(nodes, tokens, k, self.corpus.boundary)
        return at, nodes[at - 1] * self.corpus.vocab_size + tokens[at], nodes

    def count(self, k: int, *, last: bool) -> Order:
        """Count one order, and unless it is the `last` write down the node of every token."""
        runs = self._runs(k)
        merged = self._merged(runs, k)
        if not last:
            self.nodes = self._nodes(k, merged.keys, runs)
        return merged

    def _runs(self, k: int) -> list[_Run]:
        """One run a chunk; all keys stand in one file, all counts in another, and so on."""
        paths = [self.folder / f"run.{name}.{k}" for name in _Run._fields]
        sizes = [(0, 0)]
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("wb")) for path in paths]
            for start, stop in self.spans():
                at, keys, nodes = self.keyed(k, start, stop)
                found = group(keys)
                sizes.append((sizes[-1][0] + len(found.keys), sizes[-1][1] + len(keys)))
                columns = (found.keys, found.counts, nodes[at[found.first]], found.place)
                for file, column in zip(files, columns, strict=True):
                    _write(file, column)
        keys, counts, suffixes, place = (_mapped(path) for path in paths)
        with suppress(OSError):  # the names are not needed while the arrays live; some systems keep them till then
            for path in paths:
                path.unlink()
        return [_Run(keys[a:b], counts[a:b], suffixes[a:b], place[c:d]) for (a, c), (b, d) in pairwise(sizes)]

    def _nodes(self, k: int, keys: Ints, runs: list[_Run]) -> Ints:
        path = self.folder / f"nodes.{k}"
        with path.open("wb") as file:
            for number, ((start, stop), run) in enumerate(zip(self.spans(), runs, strict=True)):
                at, _, _ = self.keyed(k, start, stop)
                nodes = np.full(stop - start, -1, np.int64)
                nodes[at] = np.searchsorted(keys, run.keys)[run.place]
                _write(file, nodes[1 if number else 0 :])  # a later span's first token is the one before's last
        return _mapped(path)

    def _merged(self, runs: list[_Run], k: int) -> Order:
        """All runs as one, in blocks that fit."""
        paths = [self.folder / f"{name}.{k}" for name in Order._fields]
        block = max(self.chunk // max(len(runs), 1), 64)
        cursors = [0] * len(runs)
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("wb")) for path in paths]
            while any(at < len(run.keys) for at, run in zip(cursors, runs, strict=True)):
                _merge_block(runs, cursors, block, files)
        return Order(*(_mapped(path) for path in paths))


def _merge_block(runs: list[_Run], cursors: list[int], block: int, files: Sequence[BinaryIO]) -> None:
    """Write out everything up to the least of the keys that end the runs' next blocks, and move the cursors."""
    ahead = [run.keys[at : at + block] for at, run in zip(cursors, runs, strict=True)]
    bound = min(keys[-1] for keys in ahead if len(keys))
    taken: list[list[NDArray[Any]]] = [[], [], []]
    for i, run in enumerate(runs):
        start = cursors[i]
        stop = start + int(np.searchsorted(ahead[i], bound, side="right"))
        for column, values in zip(taken, run[:3], strict=True):
            column.append(values[start:stop])
        cursors[i] = stop
    keys, counts, suffixes = (np.concatenate(column) for column in taken)
    joined: Group = group(keys)
    _write(files[0], joined.keys)
    _write(files[1], np.bincount(joined.place, counts, minlength=len(joined.keys)).astype(np.int64))
    _write(files[2], suffixes[joined.first])


def _write(file: BinaryIO, column: NDArray[Any]) -> None:
    """Append a column; unlike `ndarray.tofile`, an `OSError` tells of a full disk."""
    file.write(np.ascontiguousarray(column).data)


def _mapped(path: Path, dtype: Any = np.int64) -> NDArray[Any]:
    """A file of whole numbers as a read-only array; it stays readable when the file's name is gone."""
    if path.stat().st_size == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r")


class Group(NamedTuple):
    """Sorted distinct keys [N], how often each occurs [N], where one occurrence is [N]; each asked key's place [M]."""

    keys: Ints
    counts: Ints
    first: Ints
    place: Ints


def group(keys: Ints) -> Group:
    """Sort `keys` [M] and join equal ones."""
    turn = np.argsort(keys)
    ordered = keys[turn]
    new = np.ones(len(keys), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    place = np.empty(len(keys), np.int64)
    place[turn] = np.cumsum(new) - 1
    return Group(ordered[first], np.diff(first, append=len(keys)), turn[first], place)


def ends(nodes: Ints, tokens: Ints, order: int, boundary: int | None) -> Ints:
    """Where the n-grams of an order end, given each token's node in the order below, [M].

    The (k − 1)-gram one token earlier is there and, if longer than `<s>`, does not end in `</s>`.
    """
    known = nodes[:-1] >= 0
    if boundary is not None and order > 2:
        known &= tokens[:-1] != boundary
    return np.flatnonzero(known) + 1
