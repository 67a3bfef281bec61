"""Half-typed words: which words a text that ends inside one may be meant to end in, and how likely each is.

A model over words looks at the words that begin so. Over smaller tokens the word before its end is searched best first:
from the text before the word, along tokens that agree with the letters typed, to where white space or an end follows.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.settings import whole
from neuralgram.textmodel import TextModel

_LAST = re.compile(r"(\s*)(\S+)$")
_STEPS = 400  # distributions looked at; a word that is not found by then is a rare one
_BRANCHES = 200  # likeliest tokens followed from each


class Completion(NamedTuple):
    """A word: P(word | the text before it), and the same among all words that begin with the letters typed."""

    word: str
    probability: float
    given_prefix: float


class _Node(NamedTuple):
    ids: tuple[int, ...]
    typed: bytes  # of the letters typed, what no token has spelled yet
    word: bytes


def half_typed(model: TextModel, text: str) -> str:
    """The word `text` ends inside of: its last letters, where they are no word of the model; "" otherwise."""
    found = _LAST.search(text)
    if found is None or not model.tokenizer.joiner:
        return ""
    token = model.tokenizer.id_of(found.group(2))
    return found.group(2) if token is None or token == model.tokenizer.unknown else ""


def complete(model: TextModel, text: str, k: int = 5) -> list[Completion]:
    """The `k` likeliest words that the last letters of `text` begin, best first; fewer where fewer are found."""
    if whole("k", k) < 1:
        raise InputError(f"k = {k}: expected at least 1")
    found = _LAST.search(text)
    if found is None:
        raise InputError(f"{text[-20:]!r} ends with no letter of a word: there is nothing to complete")
    before, space, typed = text[: found.start()], found.group(1), found.group(2)
    if model.tokenizer.joiner:
        return _listed(model, before, typed, k)
    return _searched(model, before, (space + typed).encode(), len(space.encode()), k)


def _listed(model: TextModel, before: str, typed: str, k: int) -> list[Completion]:
    log_p = model.model.log_probs(model.window(before)[None, :])[0]
    symbols = model.tokenizer.symbols()
    ids = [i for i, symbol in enumerate(symbols) if symbol.startswith(typed) and i != model.tokenizer.unknown]
    p = np.exp(log_p[ids])
    best = np.argsort(-p, kind="stable")[:k]
    whole = float(p.sum())
    return [Completion(symbols[ids[i]], float(p[i]), float(p[i]) / whole if whole else 0.0) for i in best]


def _searched(model: TextModel, before: str, typed: bytes, space: int, k: int) -> list[Completion]:
    window = tuple(model.window(before).tolist())
    parted = _parted(model, window) if space else 1.0
    words: dict[bytes, float] = {}
    order = count()
    queue: list[tuple[float, int, _Node, bool]] = [(0.0, next(order), _Node(window, typed, b""), False)]
    for _ in range(_STEPS):
        while queue and queue[0][3]:  # a whole word is the likeliest thing left
            cost, _, node, _ = heapq.heappop(queue)
            words[node.word] = words.get(node.word, 0.0) + math.exp(-cost)
        if not queue or len(words) >= 4 * k:
            break
        cost, _, node, _ = heapq.heappop(queue)
        for nats, reached, ended in _steps(model, node):
            heapq.heappush(queue, (cost + nats, next(order), reached, ended))
    open_mass = math.fsum(  # of what is still to be looked at, with all letters typed
        math.exp(-cost) for cost, _, node, _ in queue if not node.typed
    )
    whole = math.fsum(words.values()) + open_mass
    best = sorted(words.items(), key=lambda item: (-item[1], item[0]))[:k]
    return [Completion(w[space:].decode("utf-8", "replace"), p / parted, p / whole) for w, p in best]


def _parted(model: TextModel, window: tuple[int, ...]) -> float:
    """P(the next token begins with white space): what is known where a space has been typed."""
    p = np.exp(model.model.log_probs(np.array(window, np.int64)[None, :])[0])
    return float(sum(p[i] for i, piece in enumerate(model.tokenizer.pieces) if piece[:1].isspace()))


def _steps(model: TextModel, node: _Node) -> Iterator[tuple[float, _Node, bool]]:
    """Where a node leads: to tokens that agree with the letters typed, or, these spelled, to the word's end."""
    pieces, end = model.tokenizer.pieces, model.boundary_id
    log_p: NDArray[np.float64] = model.model.log_probs(np.array(node.ids, np.int64)[None, :])[0]
    ending = 0.0
    taken = 0
    for token in np.argsort(-log_p, kind="stable").tolist():
        piece = b"" if token == end else pieces[token]
        if not node.typed and (token == end or piece[:1].isspace()):
            ending += math.exp(log_p[token])
        elif token != end and piece and taken < _BRANCHES and _agree(piece, node.typed):
            taken += 1
            inside = piece if node.typed else piece.split()[0] if piece.split() else b""
            if node.typed and piece[len(node.typed) :].strip() != piece[len(node.typed) :]:
                continue  # runs on into the next word
            ids = (*node.ids[1:], token) if node.ids else ()
            yield -float(log_p[token]), _Node(ids, node.typed[len(piece) :], node.word + inside), False
    if ending:
        yield -math.log(ending), node, True


def _agree(piece: bytes, typed: bytes) -> bool:
    return piece.startswith(typed) or typed.startswith(piece)
