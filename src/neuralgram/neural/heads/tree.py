"""The hierarchical softmax (Morin & Bengio 2005; Mnih & Hinton 2008): a token is a path of yes-or-no questions.

    P(w | f) = Π over the nodes n above w of σ(±(b_n + u_n·f)),  + where the path turns to side 1

Exact and normalised whatever the weights are, at the price of the path: about log₂ V questions, fewer for
frequent tokens, as the tree is Huffman's over the token counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.compiler import is_compiling

from neuralgram.errors import InputError
from neuralgram.explanation import Panel, Quantity
from neuralgram.neural.heads.base import Head, HeadInputs
from neuralgram.neural.heads.noise import token_counts
from neuralgram.neural.heads.softmax import letters, numbers, scored
from neuralgram.neural.initial import small
from neuralgram.neural.rows import take

_TURN = "{side}·{σ} + (1 − {side})·(1 − {σ})"
_PAIRS = 1 << 14  # (example, node) pairs scored at once: their vectors stay in the cache


class Paths(NamedTuple):
    """All questions of a batch in one list of N: `example` [N], `node`, `sign` (+1 for side 1, −1 for side 0)."""

    example: Tensor
    node: Tensor
    sign: Tensor


class TreeHead(Head):
    """`weight` [V − 1, h] and `bias` [V − 1] of the inner nodes, `above` [2V − 1] the tree (see `huffman`).

    With the direct path, row n of W is node n's; its last row is nobody's and stays as it was drawn.
    """

    by_token: ClassVar[tuple[str, ...]] = ()
    above: Tensor

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        if inputs.vocab_size < 2:
            raise InputError("the tree head over 1 symbol: expected at least 2, to have something to ask")
        if inputs.tied:
            raise InputError(
                "tied output vectors with the tree head: its vectors are questions, not tokens; untie them"
            )
        if inputs.own:
            self.weight = nn.Parameter(small(inputs.rng, inputs.vocab_size - 1, inputs.own))
        self.bias = nn.Parameter(torch.zeros(inputs.vocab_size - 1))
        self._shared = list(inputs.shared)
        self._letters = letters(inputs.own, inputs.tied, inputs.shared)
        above = huffman(token_counts(inputs.counts, inputs.vocab_size))
        self.register_buffer("above", torch.from_numpy(above.astype(np.int32)))
        self._levels = levels(above)

    def paths(self, y_B: Tensor) -> Paths:
        """The questions on the way from each token to the root."""
        found: list[tuple[Tensor, Tensor]] = []
        example = torch.arange(len(y_B), device=y_B.device)
        link = self.above[y_B + (self.vocab_size - 1)].long()
        while len(example) or not found:
            found.append((example, link))
            link = self.above[link >> 1].long()
            below_root = link >= 0
            example, link = example[below_root], link[below_root]
        joined = torch.cat([link for _, link in found])
        return Paths(torch.cat([example for example, _ in found]), joined >> 1, (joined & 1) * 2 - 1)

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """−Σ log σ over the path, with gradients: the exact loss."""
        return self._loss(f_BF, self.paths(y_B), f_BF.new_zeros(len(f_BF)))

    @torch.no_grad()
    def nll(self, f_BF: Tensor, y_B: Tensor) -> Tensor:
        """The same, summed in float64, some paths at a time."""
        total_B = torch.zeros(len(f_BF), dtype=torch.float64, device=f_BF.device)
        paths = self.paths(y_B)
        for start in range(0, len(paths.node), _PAIRS):
            part = Paths(*(column[start : start + _PAIRS] for column in paths))
            total_B = self._loss(f_BF, part, total_B)
        return total_B

    def _loss(self, f_BF: Tensor, paths: Paths, total_B: Tensor) -> Tensor:
        """`total_B` plus the losses of `paths`."""
        f_NF = f_BF.index_select(0, paths.example)
        vectors = [take(part, paths.node) for part in self._parts()]
        score_N = torch.linalg.vecdot(f_NF, vectors[0] if len(vectors) == 1 else torch.cat(vectors, 1))
        score_N = (score_N + take(self.bias, paths.node)).to(total_B.dtype)
        return total_B.index_add(0, paths.example, F.softplus(-score_N * paths.sign))

    def log_probs(self, f_BF: Tensor) -> Tensor:
        """log P of every token, float64 [B, V]."""
        return self._descend(self._scores(f_BF).double())

    def logits(self, f_BF: Tensor) -> Tensor:
        """log P in the precision of f."""
        return self._descend(self._scores(f_BF))

    @torch.no_grad()
    def explain(self, f_1F: Tensor, words: Sequence[int]) -> tuple[Panel, ...]:
        """The path to the word that matters most, and to the next of `words`: question by question."""
        p_V = numbers(self.log_probs(f_1F)[0].exp())
        everything = self.paths(torch.arange(self.vocab_size, device=self.bias.device))
        depth_V = np.bincount(everything.example.cpu().numpy(), minlength=self.vocab_size).astype(np.float64)
        of_words = (
            Quantity("questions", depth_V, "how many stand on the way to the word"),
            Quantity("p", p_V, "p = Π P over the questions on its way"),
        )
        return (*(self._explain_path(f_1F[0], word) for word in words[:2]), Panel("Every word", of_words))

    def _explain_path(self, f_F: Tensor, word: int) -> Panel:
        paths = self.paths(torch.tensor([word], device=self.bias.device))
        node, sign = paths.node.flip(0), paths.sign.flip(0)  # from the root down
        parts = dict(zip(self._letters, [part[node] for part in self._parts()], strict=True))
        score = scored(parts, f_F, self.bias[node], "s")
        side, s = numbers((sign + 1) // 2), score[-1].value
        yes = 0.5 + 0.5 * np.tanh(0.5 * s)
        taken = 0.5 + 0.5 * np.tanh(0.5 * s * numbers(sign))
        reached = np.asarray(np.cumprod(taken), np.float64)
        before = np.concatenate([[1.0], reached[:-1]])
        questions = (
            *score,
            Quantity("σ", yes, formula="1 / (1 + exp(−{s}))", inputs={"s": s}),
            Quantity("side", side, "the word's code: 1 where its path turns to side 1, whose chance is σ"),
            Quantity("P", taken, "P = σ on side 1, 1 − σ on side 0", _TURN, {"side": side, "σ": yes}),
            Quantity("product", reached, "of P down to here", "{above}·{P}", {"above": before, "P": taken}),
        )
        rows = tuple(f"{n}{' (root)' * (n == 0)}" for n in node.tolist())
        return Panel("The path to", questions, rows, "node", about=word)

    def _scores(self, f_BF: Tensor) -> Tensor:
        """b_n + u_n·f of every inner node, [B, V − 1]."""
        parts = [part[: self.vocab_size - 1] for part in self._parts()]
        score = self.bias.expand(f_BF.shape[0], -1)
        for f, part in zip(torch.split(f_BF, [part.shape[1] for part in parts], 1), parts, strict=True):
            score = torch.addmm(score, f, part.t())
        return score

    def _descend(self, score: Tensor) -> Tensor:
        """log P [B, V] from the scores of the nodes: each level adds its questions to those above it."""
        above = self.above.long()
        link_inner, link_token = above[: self.vocab_size - 1], above[self.vocab_size - 1 :]
        sides = torch.stack([F.logsigmoid(-score), F.logsigmoid(score)], 2).flatten(
            1
        )  # log P(side | node), at 2n + side
        reached = score.new_zeros(score.shape[0], 1)  # log P of getting to each node of a level
        inner = [reached]
        for before, level in pairwise(self._level_slices()):
            link = link_inner[level]
            reached = reached.index_select(1, (link >> 1) - before.start) + sides.index_select(1, link)
            inner.append(reached)
        return torch.cat(inner, 1).index_select(1, link_token >> 1) + sides.index_select(1, link_token)

    def _level_slices(self) -> list[slice]:
        """`levels` of the tree as it is now; a program has those of the tree it was made of."""
        if not is_compiling():
            self._levels = levels(self.above.cpu().numpy())
        return self._levels

    def _parts(self) -> list[Tensor]:
        own: list[Tensor] = [self.weight] if hasattr(self, "weight") else []
        return own + list(self._shared)


def huffman(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """`above` [2V − 1] of the tree with the shortest mean path Σ weight·depth; V ≥ 2.

    Inner nodes are numbered 0 … V − 2 from the root down, level by level; token w is number V − 1 + w.
    above[i] is 2·parent + side, with side 0 or 1; of the root it is −1.
    """
    made = _merge(weights)
    return _number(made, len(weights))


def _merge(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """The two children of inner nodes as they are made, [V − 1, 2]; tokens are 0 … V − 1, the n-th made V + n.

    The lightest two are always at the head of one of two queues: tokens by weight, and nodes in the order they are
    made. Of equal weights tokens go first, by id, which also keeps the tree low.
    """
    order = np.argsort(weights, kind="stable").tolist()
    light = [*weights[order].tolist(), np.inf]
    nodes: list[float] = []  # their weights
    made = np.empty((len(order) - 1, 2), np.int64)
    token = node = 0
    for number in range(len(made)):
        weight = 0.0
        for side in (0, 1):
            if node == len(nodes) or light[token] <= nodes[node]:
                made[number, side] = order[token]
                weight += light[token]
                token += 1
            else:
                made[number, side] = len(order) + node
                weight += nodes[node]
                node += 1
        nodes.append(weight)
    return made


def _number(made: NDArray[np.int64], vocab_size: int) -> NDArray[np.int64]:
    """`above`, from the root (the last node made) down."""
    above = np.full(2 * vocab_size - 1, -1, np.int64)
    level = np.array([len(made) - 1])  # by order of making
    first = 0  # the number of the level's first node
    while len(level):
        children = made[level].reshape(-1)
        link = 2 * first + np.arange(len(children))  # 2·parent + side, as siblings stand side by side
        inner = children >= vocab_size
        first += len(level)
        above[vocab_size - 1 + children[~inner]] = link[~inner]
        above[first : first + inner.sum()] = link[inner]
        level = children[inner] - vocab_size
    return above


def levels(above: NDArray[np.int64]) -> list[slice]:
    """The inner nodes of each level, root first: parents are in order, so a level's children are one run."""
    parent = above[: len(above) // 2] >> 1
    found = [slice(0, 1)]
    while found[-1].stop < len(parent):
        start = found[-1].stop
        found.append(slice(start, int(np.searchsorted(parent, start, side="left"))))
    return found
