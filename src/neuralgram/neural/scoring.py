"""Scoring without the sum over V, for networks that learned to be normalised (the `nce` head), and single queries.

    −log P(w | context) ≈ −s_w,   s = y of the equation;   exactly −s_w + log Z, Z = Σ_v e^{s_v}

How far log Z is from 0 is measured by `log_normaliser`; report it with every figure that leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from neuralgram.errors import InputError
from neuralgram.families import HEADS, members
from neuralgram.lm import TopK
from neuralgram.neural import reference
from neuralgram.neural.heads.softmax import ScoreHead
from neuralgram.settings import whole
from neuralgram.text.windows import Windows, as_ids

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM, Contexts

_TABLE_BYTES = 512 << 20  # of first-layer products, c·V·h numbers
_ROWS = 4096  # windows scored at once: enough to make the cost of calls vanish


class LogNormaliser(NamedTuple):
    """log Z in nats over the windows of a text: `mean`, standard deviation `sd`, and of how many `tokens`."""

    mean: float
    sd: float
    tokens: int


class Scorer:
    """Scores and single queries of `model` at the price of a look-up; it reads the weights when made and keeps them.

    H x = Σ_j H_j C[w_j] comes from a table of all products, c·V·h numbers, where those fit into 512 MB and so many
    `windows` are to be scored (None: nobody knows) that it pays.
    Raises `InputError` for a head in which no token has a score of its own.
    """

    def __init__(self, model: NPLM, windows: int | None = None) -> None:
        s, head = model.settings, model.out
        if not head.linear:
            *most, last = [name for name, one in members(HEADS, "head").items() if one.linear]
            raise InputError(
                f"the {s.head} head gives no token a score of its own: expected {', '.join(most)} or {last}"
            )
        self.model, self.head = model, cast(ScoreHead, head)
        self.products = _products(model) if windows is None or windows > s.vocab else None
        self._offsets = torch.arange(s.context, device=model.emb.weight.device) * s.vocab
        fast = self.products is not None and len(s.widths) == 1 and self.products.device.type == "cpu"
        self._one = _OneWindow(model, self.head, self.products.numpy()) if fast and self.products is not None else None

    @torch.no_grad()
    def nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−s_w in nats of `targets` [B] after `contexts` [B, c], float64 [B]; off from −log P by log Z."""
        ids_Bc = torch.from_numpy(self.model.check_windows(contexts, targets)).to(self._offsets.device)
        y_B = torch.from_numpy(as_ids(targets)).to(self._offsets.device)
        out = np.empty(len(ids_Bc), np.float64)
        for start in range(0, len(out), _ROWS):
            block = slice(start, start + _ROWS)
            out[block] = self.head.scores(self._features(ids_Bc[block]), y_B[block]).neg_().cpu().numpy()
        return out

    def one(self, context: Sequence[int], target: int) -> float:
        """−s_w in nats of one token after one window."""
        if self._one is None:
            return float(self.nll([context], [target])[0])
        return -self._one.score(context, target)

    @torch.no_grad()
    def top(self, context: Sequence[int], k: int) -> TopK:
        """The `k` likeliest next tokens after one window, normalised."""
        if self._one is None:
            return top_k(self.model, [context], k)
        return _best(torch.from_numpy(self._one.scores(context))[None], k)

    def _features(self, ids_Bc: Tensor) -> Tensor:
        """f [B, F], the first layer from the table."""
        if self.products is None:
            return self.model.features(ids_Bc)
        model, s = self.model, self.model.settings
        activation = _tanh if s.activation == "tanh" else model.activation
        a_BH = activation(F.embedding_bag(ids_Bc + self._offsets, self.products, mode="sum"))
        for i in range(1, len(s.widths)):
            layer: Any = model.get_submodule(f"hidden{i + 1}")
            a_BH = activation(F.linear(a_BH, layer.weight, layer.bias))
        if hasattr(model, "project"):
            a_BH = F.linear(a_BH, model.project.weight)
        if not s.direct:
            return a_BH
        return torch.cat([a_BH, F.embedding(ids_Bc, model.emb.weight).flatten(1)], 1)


def _tanh(a: Tensor) -> Tensor:
    """tanh a = 2σ(2a) − 1, in place: within 10⁻⁷ and three times as fast as the library's tanh."""
    return a.mul_(2).sigmoid_().mul_(2).sub_(1)


class _OneWindow:
    """Features and scores of one window in NumPy, whose calls cost a fifth of PyTorch's; one hidden layer."""

    def __init__(self, model: NPLM, head: ScoreHead, products: NDArray[np.float32]) -> None:
        s = model.settings
        self.vocab_size, self.context, self.products = s.vocab, s.context, products
        self.offsets = np.arange(s.context) * s.vocab
        self.activation: Callable[[Any], Any] = reference.ACTIVATIONS[s.activation].f
        self.project = model.project.weight.detach().numpy() if hasattr(model, "project") else None
        self.C = model.emb.weight.detach().numpy() if s.direct else None
        self.parts = [part.detach().numpy() for part in head.vectors()]
        self.bias = head.bias.detach().numpy()

    def features(self, context: Sequence[int]) -> NDArray[np.float32]:
        """f [F]."""
        if len(context) != self.context:
            raise InputError(f"a window of {len(context)} tokens: expected {self.context}, oldest first")
        if min(context) < 0 or max(context) >= self.vocab_size:
            raise InputError(f"a window of {list(context)}: expected ids 0 … {self.vocab_size - 1}")
        a = self.activation(self.products.take(self.offsets + context, 0).sum(0))
        if self.project is not None:
            a = self.project @ a
        return a if self.C is None else np.concatenate([a, self.C.take(context, 0).ravel()])

    def scores(self, context: Sequence[int]) -> NDArray[np.float32]:
        """s [V], by NumPy's product with a vector, here the faster one."""
        f, scores, start = self.features(context), self.bias.copy(), 0
        for part in self.parts:
            scores += part @ f[start : start + part.shape[1]]
            start += part.shape[1]
        return scores

    def score(self, context: Sequence[int], target: int) -> float:
        """s_w."""
        if not 0 <= target < self.vocab_size:
            raise InputError(f"id {target} is outside the vocabulary: expected 0 … {self.vocab_size - 1}")
        f, score, start = self.features(context), float(self.bias[target]), 0
        for part in self.parts:
            score += float(part[target] @ f[start : start + part.shape[1]])
            start += part.shape[1]
        return score


@torch.no_grad()
def _products(model: NPLM) -> Tensor | None:
    """T [c·V, h] with d + H x = Σ_j T[j·V + w_j], d being part of the first position's rows; None where too large."""
    if not model.settings.widths or model.context == 0:
        return None
    hidden: Any = model.get_submodule("hidden")
    (V, m), (h, X) = model.emb.weight.shape, hidden.weight.shape
    if X // m * V * h * model.emb.weight.element_size() > _TABLE_BYTES:
        return None
    T_jVh: Tensor = model.emb.weight @ hidden.weight.view(h, X // m, m).permute(1, 2, 0)
    T_jVh[0] += hidden.bias
    return T_jVh.flatten(0, 1)


def log_normaliser(model: NPLM, windows: Windows) -> LogNormaliser:
    """Mean and standard deviation of log Z = s_w − log P(w) over `windows`, by scoring each both ways."""
    scorer = Scorer(model)
    found = [np.empty(0)]
    for start in range(0, len(windows), model.score_batch):
        contexts, targets = windows.slice(start, start + model.score_batch)
        found.append(model.context_nll(contexts, targets) - scorer.nll(contexts, targets))
    log_z = np.concatenate(found)
    if not len(log_z):
        raise InputError("a text without a window has no normaliser: expected at least one token to score")
    return LogNormaliser(float(log_z.mean()), float(log_z.std()), len(log_z))


@torch.no_grad()
def top_k(model: NPLM, contexts: Contexts, k: int) -> TopK:
    """The `k` likeliest next tokens after each of `contexts` [B, c]."""
    return _best(model.out.logits(model.features(contexts)), k)


def _best(y_BV: Tensor, k: int) -> TopK:
    """From logits, which it overwrites. Single precision stays within a term: the sum is float64, good to 10⁻⁷."""
    if whole("k", k) < 1:
        raise InputError(f"k = {k}: expected at least 1 token")
    values_Bk, ids_Bk = _highest(y_BV, min(k, y_BV.shape[1]))
    top_B1 = values_Bk[:, :1]
    log_z_B1 = y_BV.sub_(top_B1).exp_().sum(1, keepdim=True, dtype=torch.float64).log_().add_(top_B1)
    return TopK(ids_Bk.cpu().numpy(), (values_Bk.double() - log_z_B1).cpu().numpy())


def _highest(y_BV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k highest scores and their ids; equal ones in the order of the ids, which `topk` leaves open."""
    values_Bk, ids_Bk = y_BV.topk(k, 1)
    if bool((y_BV >= values_Bk[:, -1:]).sum(1).gt(k).any()):  # a tie with what is left out
        values_BV, ids_BV = y_BV.sort(dim=1, descending=True, stable=True)
        return values_BV[:, :k].clone(), ids_BV[:, :k]
    ids_Bk = ids_Bk.sort(1).values
    values_Bk, order_Bk = y_BV.gather(1, ids_Bk).sort(dim=1, descending=True, stable=True)
    return values_Bk, ids_Bk.gather(1, order_Bk)
