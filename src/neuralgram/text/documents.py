"""Where the documents of a text begin in its ids: what a stream forgets, and a comparison by file needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LIMIT = 10_000  # more are not remembered: a text of that many documents has groups enough without


class Documents(NamedTuple):
    """The documents of a part, in their order: `names` [D], and `starts` [D], the place of each one's first token."""

    names: tuple[str, ...]
    starts: NDArray[np.int64]

    def within(self, start: int, stop: int) -> Documents:
        """Those with tokens in start … stop − 1, counted from `start`; the first one's beginning may be cut off."""
        ends = np.append(self.starts[1:], np.iinfo(np.int64).max)
        kept = np.flatnonzero((self.starts < stop) & (ends > start) & (ends > self.starts))
        return Documents(tuple(self.names[i] for i in kept), np.maximum(self.starts[kept] - start, 0))


class DocumentLog:
    """Collects where documents begin while a text is read; `documents` is None beyond `LIMIT` of them."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._starts: list[int] = []
        self._count = 0

    def begin(self, name: str, place: int) -> None:
        """The document `name` begins with token `place`."""
        self._count += 1
        if self._count <= LIMIT:
            self._names.append(name)
            self._starts.append(place)

    def documents(self) -> Documents | None:
        """All that began, or None where there were too many."""
        return Documents(tuple(self._names), np.array(self._starts, np.int64)) if self._count <= LIMIT else None
