"""The softmax in clusters of frequency (Goodman 2001; Grave et al. 2017): rare tokens cost only when they occur.

    P(w) = softmax over [frequent tokens | clusters](w)                        w frequent
    P(w) = softmax over [frequent tokens | clusters](k) · softmax over k (w)   w in cluster k

Exact and normalised. Every token keeps a vector of full width, so tied vectors and the direct path work as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuralgram.errors import InputError
from neuralgram.explanation import Panel, Quantity
from neuralgram.neural import kernels
from neuralgram.neural.heads.base import Head, HeadInputs
from neuralgram.neural.heads.noise import by_frequency, token_counts
from neuralgram.neural.heads.softmax import letters, numbers, scored
from neuralgram.neural.initial import small
from neuralgram.neural.rows import take
from neuralgram.settings import setting

_FREQUENT = 1024


def default_cutoffs(vocab_size: int) -> list[int]:
    """1 024 frequent tokens, then clusters each as large as all before it: by Zipf's law each is as likely."""
    cutoff = max(1, min(_FREQUENT, vocab_size // 4))
    cutoffs = []
    while 2 * cutoff < 2 * vocab_size - cutoff:  # the last cluster is at least half as large as what precedes it
        cutoffs.append(cutoff)
        cutoff *= 2
    return cutoffs


class AdaptiveHead(Head):
    """`weight` [V, h] and `bias` [V] by frequency rank, `cluster_weight` [K, F] and `cluster_bias` [K] of the clusters,
    `rank` [V] of each token, most frequent 0. Rows of W and C are tokens', as everywhere.
    """

    by_token: ClassVar[tuple[str, ...]] = ("direct.weight",)

    @dataclass(frozen=True)
    class Settings:
        """Of the clusters."""

        cutoffs: tuple[int, ...] | None = setting(
            None,
            help="The frequency ranks at which clusters begin.",
            auto="as the vocabulary's size has it",
            expected="rising ranks from 1 to below the size of the vocabulary",
        )

        def __post_init__(self) -> None:
            if self.cutoffs is not None and not isinstance(self.cutoffs, list | tuple):
                object.__setattr__(self, "cutoffs", (self.cutoffs,))  # one number, one cluster

    options: Settings
    rank: Tensor

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        V = inputs.vocab_size
        cutoffs = default_cutoffs(V) if self.options.cutoffs is None else list(self.options.cutoffs)
        edges = [0, *cutoffs, V]
        if any(low >= high for low, high in pairwise(edges)):
            raise InputError(f"cutoffs {cutoffs}: expected rising ranks from 1 to {V - 1}")
        self.clusters = [slice(low, high) for low, high in pairwise(edges)]  # of ranks; the first is no cluster
        if inputs.own:
            self.weight = nn.Parameter(small(inputs.rng, V, inputs.own))
        self.bias = nn.Parameter(torch.zeros(V))
        if cutoffs:
            self.cluster_weight = nn.Parameter(small(inputs.rng, len(cutoffs), inputs.features))
            self.cluster_bias = nn.Parameter(torch.zeros(len(cutoffs)))
        self._shared = list(inputs.shared)
        self._letters = letters(inputs.own, inputs.tied, inputs.shared)
        rank = np.argsort(by_frequency(token_counts(inputs.counts, V)))
        self.register_buffer("rank", torch.from_numpy(rank.astype(np.int32)))

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """The exact loss, with gradients."""
        loss_B = f_BF.new_zeros(len(f_BF))
        for f, target, rows, (vectors, bias) in self._asked(f_BF, y_B):
            part = kernels.softmax_loss(f, [vectors], bias, target, self.precision)
            loss_B = loss_B.index_add(0, rows, part)
        return loss_B

    @torch.no_grad()
    def nll(self, f_BF: Tensor, y_B: Tensor) -> Tensor:
        """The same in float64."""
        nll_B = torch.zeros(len(f_BF), dtype=torch.float64, device=f_BF.device)
        for f, target, rows, (vectors, bias) in self._asked(f_BF, y_B):
            nll_B.index_add_(0, rows, kernels.softmax_nll(f, [vectors], bias, target))
        return nll_B

    def log_probs(self, f_BF: Tensor) -> Tensor:
        """log P of every token, float64 [B, V]."""
        return self._log_probs([F.linear(f_BF, *layer).double() for layer in self._layers()])

    def logits(self, f_BF: Tensor) -> Tensor:
        """log P in the precision of f."""
        return self._log_probs([F.linear(f_BF, *layer) for layer in self._layers()])

    @torch.no_grad()
    def explain(self, f_1F: Tensor, words: Sequence[int]) -> tuple[Panel, ...]:
        """P(cluster), the word's probability within it, and their product."""
        scores = [F.linear(f_1F[0], *layer) for layer in self._layers()]
        frequent, sizes = self.clusters[0].stop, [cluster.stop - cluster.start for cluster in self.clusters]
        rank_V = self.rank.long()
        log_Z_K = torch.stack([score.logsumexp(0) for score in scores])
        cluster_V = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))[rank_V]
        log_chosen_K = scores[0][frequent:] - log_Z_K[0]
        chosen_V = numbers(torch.cat([torch.zeros(1).to(log_chosen_K), log_chosen_K]).exp()[cluster_V])
        parts = dict(zip(self._letters, [part[rank_V] for part in self._by_rank()], strict=True))
        score = scored(parts, f_1F[0], self.bias[rank_V])
        y_V, log_Z_V = score[-1].value, numbers(log_Z_K[cluster_V])
        within_V = np.exp(y_V - log_Z_V)
        p = ("{P(cluster)}·{P in it}", {"P(cluster)": chosen_V, "P in it": within_V})
        choice = (
            Quantity("cluster", numbers(cluster_V), "its cluster; 0: frequent, in the first softmax"),
            Quantity("log Z", log_Z_V, "log Σ exp y of the softmax it stands in"),
            Quantity("P in it", within_V, formula="exp({y} − {log Z})", inputs={"y": y_V, "log Z": log_Z_V}),
            Quantity("P(cluster)", chosen_V, "1 in the first softmax"),
            Quantity("p", chosen_V * within_V, "p = P(cluster)·P in it", *p),
        )
        text = (
            f"The first softmax is over the {frequent} most frequent words and {len(sizes) - 1} clusters of rarer ones."
        )
        return (
            *self._explain_clusters(f_1F[0], log_Z_K, sizes),
            Panel("Scores", score, text="y = b + u·f, u the word's own output vector."),
            Panel("Cluster, then word", choice, text=text),
        )

    def _explain_clusters(self, f_F: Tensor, log_Z_K: Tensor, sizes: list[int]) -> list[Panel]:
        if len(sizes) == 1:
            return []
        score = scored({"K f": self.cluster_weight}, f_F, self.cluster_bias)
        y, log_Z = score[-1].value, numbers(log_Z_K[0])
        chosen = (
            Quantity("words", np.array(sizes[1:], np.float64), "how many words are in it"),
            *score,
            Quantity("P(cluster)", np.exp(y - log_Z), formula="exp({y} − {log Z})", inputs={"y": y, "log Z": log_Z}),
            Quantity("log Z", log_Z, "log Σ exp y over frequent words and clusters"),
        )
        rows = tuple(str(k) for k in range(1, len(sizes)))
        return [Panel("Clusters of rarer words", chosen, rows, "cluster", "Each is one word of the first softmax.")]

    def _log_probs(self, scores: list[Tensor]) -> Tensor:
        """log P [B, V] by token, from the scores of [frequent tokens | clusters] and of each cluster."""
        frequent = self.clusters[0].stop
        first = scores[0].log_softmax(1)
        parts = [first[:, :frequent]]
        for k, score in enumerate(scores[1:], start=frequent):
            parts.append(score.log_softmax(1) + first[:, k, None])
        return torch.cat(parts, 1).index_select(1, self.rank.long())

    def _asked(self, f_BF: Tensor, y_B: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor]]]:
        """Each softmax with what it is asked: features, targets, their places in the batch, vectors and biases."""
        rank_B = self.rank[y_B].long()
        starts = torch.tensor([cluster.start for cluster in self.clusters[1:]], device=y_B.device)
        cluster_B = torch.bucketize(rank_B, starts, right=True)  # 0: frequent
        first, *rest = self._layers()
        target_B = torch.where(cluster_B == 0, rank_B, cluster_B + (self.clusters[0].stop - 1))
        yield f_BF, target_B, torch.arange(len(y_B), device=y_B.device), first
        for k, layer in enumerate(rest, start=1):
            rows = (cluster_B == k).nonzero()[:, 0]
            if len(rows):
                yield F.embedding(rows, f_BF), rank_B[rows] - self.clusters[k].start, rows, layer

    def _layers(self) -> list[tuple[Tensor, Tensor]]:
        """Vectors and biases of [frequent tokens | clusters] and of each cluster."""
        parts = self._by_rank()
        sizes = [cluster.stop - cluster.start for cluster in self.clusters]
        columns = [torch.split(part, sizes) for part in parts]  # split, whose gradient is one table, not K
        layers = [
            (vectors[0] if len(vectors) == 1 else torch.cat(vectors, 1), bias)
            for *vectors, bias in zip(*columns, torch.split(self.bias, sizes), strict=True)
        ]
        if len(sizes) > 1:
            vectors, bias = layers[0]
            layers[0] = torch.cat([vectors, self.cluster_weight]), torch.cat([bias, self.cluster_bias])
        return layers

    def _by_rank(self) -> list[Tensor]:
        """The output vectors of the tokens, most frequent first, by columns."""
        parts: list[Tensor] = [self.weight] if hasattr(self, "weight") else []
        if self._shared:
            order = torch.argsort(self.rank)
            parts += [take(part, order) for part in self._shared]
        return parts
