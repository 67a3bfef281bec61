"""The back-off table: log P(w | h) of listed n-grams, and a weight for each context to fall back by.

    log P(w | h) = log_p(hw)                          where hw is listed
                 = log_bow(h) + log P(w | h')         otherwise, h' = h without its oldest token

(log_bow of a context that is not listed is 0). Every Kneser–Ney form, pruned or not, interpolated or not,
is written into one exactly, and an ARPA file is one in text (Katz 1987; Chen & Goodman 1999, section 2).
Every token is listed as a unigram, so a search always ends. Logs are natural.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import ModelDirError
from neuralgram.ngram.model import State
from neuralgram.ngram.trie import Floats, Ints, Trie, join


class Counted(NamedTuple):
    """The counts a table was estimated from: kept to be shown, nothing is predicted from them.

    a       for orders 1 … n, the (adjusted) count of each n-gram, [N_k], in as few bytes as hold the largest
    pruned  for contexts of 0 … n − 1 tokens, Σ a of what was left out after each, [N_j]; () where nothing was
    """

    a: tuple[NDArray[Any], ...]
    pruned: tuple[NDArray[Any], ...] = ()

    @classmethod
    def of(cls, a: Sequence[Ints], pruned: Sequence[Ints] = ()) -> Counted:
        """These counts, packed."""
        return cls(tuple(map(_packed, a)), tuple(map(_packed, pruned)))


def _packed(counts: Ints) -> NDArray[Any]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


@dataclass(frozen=True, eq=False)
class BackoffTable:
    """n-grams with their log-probabilities and back-off weights.

    trie      the n-grams; with each, its first and its last tokens are listed too
    boundary  `<s>` as the first token of an n-gram, `</s>` as the last; None: a stream
    log_p     for orders 1 … n, [N_k]
    log_bow   for orders 1 … n − 1, [N_k]; of the boundary symbol, that of `<s>`
    counted   the counts behind them, or None where they are not known, as in what an ARPA file holds
    """

    trie: Trie
    boundary: int | None
    log_p: tuple[Floats, ...]
    log_bow: tuple[Floats, ...]
    counted: Counted | None = None

    @property
    def order(self) -> int:
        """n, the length of the longest n-grams."""
        return self.trie.order

    def losses(self, contexts: Ints, targets: Ints) -> Floats:
        """−log P(target | context), [B]; contexts [B, n − 1]."""
        tokens, at = join(contexts, targets, self.boundary)
        nodes = self.trie.walk(tokens, self.order)
        log_p = self.log_p[0][tokens[at]]
        for k in range(2, self.order + 1):
            context, node = nodes[k - 2][at - 1], nodes[k - 1][at]
            log_p += np.where(context >= 0, self.log_bow[k - 2][context], 0.0) if len(self.log_bow[k - 2]) else 0.0
            listed = np.flatnonzero(node >= 0)
            log_p[listed] = self.log_p[k - 1][node[listed]]
        return -log_p

    def rows(self, contexts: Ints) -> Floats:
        """log P(· | context), [B, V]: the unigrams, then what longer contexts list, each over the last."""
        nodes = self.trie.contexts(contexts)
        weight = np.zeros(nodes.shape)  # column j: the weights of the contexts longer than j, multiplied
        for j in range(self.order - 1, 0, -1):
            node = nodes[:, j]
            step = np.where(node >= 0, self.log_bow[j - 1][node], 0.0) if len(self.log_bow[j - 1]) else 0.0
            weight[:, j - 1] = weight[:, j] + step
        out = self.log_p[0] + weight[:, :1]
        for j in range(1, self.order):
            row, word, node = self.trie.continuations(j + 1, nodes[:, j])
            out[row, word] = self.log_p[j][node] + weight[row, j]
        return out

    def longest(self, contexts: Ints, targets: Ints) -> Ints:
        """The order 1 … n of the n-gram each probability is read from, [B]."""
        tokens, at = join(contexts, targets, self.boundary)
        nodes = self.trie.walk(tokens, self.order)
        found: Ints = np.stack([node[at] >= 0 for node in nodes]).sum(axis=0)
        return found

    def state(self) -> State:
        """The arrays that make the table: `keys.k`, `log_p.k`, `log_bow.k`; `counts.k` and `pruned.j` where known."""
        arrays: dict[str, NDArray[Any]] = self.trie.state()
        arrays |= {f"log_p.{k}": values for k, values in enumerate(self.log_p, 1)}
        arrays |= {f"log_bow.{k}": values for k, values in enumerate(self.log_bow, 1)}
        if self.counted is not None:
            arrays |= {f"counts.{k}": values for k, values in enumerate(self.counted.a, 1)}
            arrays |= {f"pruned.{j}": values for j, values in enumerate(self.counted.pruned)}
        return arrays

    @classmethod
    def from_state(cls, vocab_size: int, order: int, boundary: int | None, state: State) -> BackoffTable:
        """The table that `state()` gave."""
        trie = Trie.from_state(vocab_size, order, state)
        log_p = tuple(_column(state, f"log_p.{k}", trie.size(k)) for k in range(1, order + 1))
        log_bow = tuple(_column(state, f"log_bow.{k}", trie.size(k)) for k in range(1, order))
        return cls(trie, boundary, log_p, log_bow, _counted(trie, state))


def _counted(trie: Trie, state: State) -> Counted | None:
    """The counts, which a table saved before they were kept does not have."""
    if "counts.1" not in state:
        return None
    a = tuple(_column(state, f"counts.{k}", trie.size(k), None) for k in range(1, trie.order + 1))
    if "pruned.0" not in state:
        return Counted(a)
    return Counted(a, tuple(_column(state, f"pruned.{j}", trie.size(j), None) for j in range(trie.order)))


def _column(state: State, name: str, size: int, dtype: Any = np.float64) -> NDArray[Any]:
    values: NDArray[Any] = np.asarray(state.get(name, ()), dtype)
    if values.shape != (size,):
        raise ModelDirError(f"array {name} has shape {values.shape}, expected ({size},): make the model again")
    return values


def prune(table: BackoffTable, kept: Sequence[NDArray[np.bool_]]) -> BackoffTable:
    """The table with only the n-grams of orders 2 … n where `kept` [N_k] is true; none may lose what it begins with."""
    V = table.trie.vocab_size
    number = np.arange(V)  # of each node of the order below, its new number
    keys: list[Ints] = []
    for k, keep in enumerate(kept, 2):
        keys.append(number[table.trie.parents(k)[keep]] * V + table.trie.words(k)[keep])
        number = np.cumsum(keep) - 1
    known = table.counted
    if known is not None:
        known = Counted(_only(known.a, 1, kept), _only(known.pruned, 2, kept))
    log_p, log_bow = _only(table.log_p, 1, kept), _only(table.log_bow, 1, kept)
    return BackoffTable(Trie.of(V, keys), table.boundary, log_p, log_bow, known)


def _only(columns: Sequence[NDArray[Any]], whole: int, kept: Sequence[NDArray[np.bool_]]) -> tuple[NDArray[Any], ...]:
    """Columns of rising orders: the first `whole` as they are, of the others what is kept."""
    return (*columns[:whole], *(c[keep] for c, keep in zip(columns[whole:], kept, strict=False)))
