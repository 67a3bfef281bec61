"""The neural probabilistic language model (Bengio, Ducharme, Vincent, Jauvin, JMLR 3, 2003).

    x = [C[w(t−c)]; …; C[w(t−1)]]      oldest first
    y = b + W x + U tanh(d + H x)      p = softmax(y)

Letters are the paper's; activations carry their shapes: B windows, c context, m embedding, X = c·m,
h hidden, F features (h + X with the direct path), V vocabulary. Nothing depends on train() or eval().
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.compiler import is_compiling

from neuralgram.errors import InputError
from neuralgram.explanation import Panel
from neuralgram.families import HEADS, member
from neuralgram.lm import LanguageModel, Size, State, TopK
from neuralgram.neural import panels, scoring
from neuralgram.neural.config import NPLMConfig
from neuralgram.neural.examined import Examined
from neuralgram.neural.heads.base import Head, HeadInputs
from neuralgram.neural.initial import small, uniform
from neuralgram.neural.kernels import has_bf16_units
from neuralgram.neural.reference import Network
from neuralgram.neural.rows import first_layer_by_table, table_pays, take
from neuralgram.rng import PCG32, require
from neuralgram.text.windows import as_ids

Contexts: TypeAlias = "ArrayLike | Tensor"

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "identity": lambda a: a,
}


class Matrix(nn.Module):
    """One matrix of the equation, with a bias where it has one."""

    def __init__(self, weight: Tensor, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(len(weight))) if bias else None


class NPLM(nn.Module, LanguageModel):
    """`NPLM(vocab, context, d_emb, d_hidden, direct=True, rng=None)`: V, c, m, h ([] for none), whether W is there.

    Keywords: `activation`, `dropout`, `dropout_input`, `tie`, `head`, `head_options`; see `NPLMConfig`. `head_counts`
    [V] says how often each token occurs, for heads that go by it (default: as Zipf's law has it, by id); the tables
    they make of it are part of `state()`.
    State-dict keys, in order: emb.weight (C), hidden.weight (H), hidden.bias (d), hidden2.weight, …,
    out.weight (U), out.bias (b), direct.weight (W), project.weight.

    Initial weights, drawn in that order from one stream (`rng`, by default PCG32(0)), all uniform around 0:
        C          bound 1; tied without projection: standard deviation 0.2/√m
        H          standard deviation 1/√(3·X·var C), so that H x has variance 1/3 and no unit saturates
        hidden2 …  standard deviation 1/√h (√(2/h) for relu), h the width of the layer before
        U, W       standard deviation 0.1/√columns: the first loss is log V, within 0.01 (tied: 0.03)
        project    standard deviation 0.1/√(h·m·var C)
        biases     0
    """

    kind: ClassVar[str] = "nplm"
    form: ClassVar[str] = "tinyllm"

    def __init__(  # noqa: PLR0917  # the contract's signature
        self,
        vocab: int,
        context: int,
        d_emb: int,
        d_hidden: int | Sequence[int],
        direct: bool = True,
        rng: PCG32 | None = None,
        *,
        activation: str = "tanh",
        dropout: float = 0.0,
        dropout_input: float = 0.0,
        tie: bool = False,
        head: str = "softmax",
        head_options: Mapping[str, Any] | None = None,
        head_counts: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        if hasattr(d_hidden, "__index__") and d_hidden == 0:
            raise InputError(
                f"d_hidden {d_hidden!r}: expected a whole number of at least 1 ([] for none, a list for several layers)"
            )
        self.settings = NPLMConfig(
            vocab, context, d_emb, d_hidden, direct, activation, dropout, dropout_input, tie, head, head_options or {}
        )
        self.vocab_size, self.context = self.settings.vocab, self.settings.context
        self.activation = ACTIVATIONS[activation]
        self._build(PCG32(0) if rng is None else require(rng, "uint32s"), head_counts)
        self.register_load_state_dict_pre_hook(_nested_lists_to_tensors)  # type: ignore[no-untyped-call]

    @classmethod
    def of(cls, choices: Mapping[str, Any], *, rng: PCG32 | None = None, head_counts: ArrayLike | None = None) -> Self:
        """The network of these choices as they are stored and as commands have them: there `d_hidden` 0 is none."""
        hidden = [] if choices["d_hidden"] == 0 else choices["d_hidden"]
        return cls(**{**choices, "d_hidden": hidden}, rng=rng, head_counts=head_counts)

    def _build(self, rng: PCG32, counts: ArrayLike | None) -> None:
        """Registers and draws the layers in state-dict order."""
        s = self.settings
        V, m, X = s.vocab, s.d_emb, s.context * s.d_emb
        h = s.widths[-1] if s.widths else 0
        project = s.tie and h != m
        bound = 0.2 * math.sqrt(3 / m) if s.tie and not project else 1.0  # var C = bound²/3
        self.emb = Matrix(uniform(rng, V, m, bound))
        for name, before, width in zip(self._hidden_names(), (X, *s.widths), s.widths, strict=False):
            gain = math.sqrt((6 if s.activation == "relu" else 3) / before)
            limit = 1 / (bound * math.sqrt(X / 3)) if name == "hidden" else gain
            self.add_module(name, Matrix(uniform(rng, width, before, limit), bias=True))
        direct = Matrix(torch.empty(V, X)) if s.direct else None  # the head borrows it; drawn after the head
        shared = [layer.weight for layer in (self.emb if s.tie else None, direct) if layer is not None]
        features = (m if s.tie else h) + (X if s.direct else 0)
        own = 0 if s.tie else h
        head = member(HEADS, s.head, "head")
        self.out: Head = head(HeadInputs(V, features, own, shared, rng, dict(s.head_options), s.tie, counts, s.head))
        if direct is not None:
            direct.weight.data.copy_(small(rng, V, X))
            self.direct = direct
        if project:
            self.project = Matrix(uniform(rng, m, h, 0.1 * math.sqrt(3 / (h * m * bound**2 / 3))))

    def _hidden_names(self) -> list[str]:
        return ["hidden" if i == 0 else f"hidden{i + 1}" for i in range(len(self.settings.widths))]

    __repr__ = LanguageModel.__repr__  # not the tree of modules that `torch.nn` prints

    # ---- the equation ----

    def features(self, contexts: Contexts, rng: torch.Generator | None = None) -> Tensor:
        """f [B, F] of `contexts` [B, c]: [tanh(d + H x); x] with the direct path, else tanh(d + H x); x alone if h = 0.

        With `rng`, the configured dropout is applied, drawn from it; without, nothing is dropped.
        """
        return self._features(self._ids(contexts), rng)

    def _features(self, ids_Bc: Tensor, rng: torch.Generator | None = None) -> Tensor:
        s = self.settings
        whole_x = rng is None or s.dropout_input == 0
        by_table = bool(s.widths) and whole_x and not is_compiling() and table_pays(ids_Bc, self.emb.weight)
        if s.direct or not by_table:
            x_BX = take(self.emb.weight, ids_Bc).flatten(1)  # x = [C[w(t−c)]; …; C[w(t−1)]]
            x_BX = _drop(x_BX, s.dropout_input, rng)
        if not s.widths:
            return x_BX
        first, *later = [getattr(self, name) for name in self._hidden_names()]
        if by_table:
            pre_BH = first_layer_by_table(ids_Bc, self.emb.weight, first.weight, first.bias)
        else:
            pre_BH = F.linear(x_BX, first.weight, first.bias)  # d + H x
        a_BH = _drop(self.activation(pre_BH), s.dropout, rng)  # a = tanh(d + H x)
        for layer in later:
            a_BH = _drop(self.activation(F.linear(a_BH, layer.weight, layer.bias)), s.dropout, rng)
        if hasattr(self, "project"):
            a_BH = F.linear(a_BH, self.project.weight)
        return torch.cat([a_BH, x_BX], 1) if s.direct else a_BH  # [U W] [a; x] = U a + W x

    def forward(self, contexts: Contexts) -> Tensor:
        """y = b + W x + U tanh(d + H x): logits [B, V] of `contexts` [B, c], oldest token first, with gradients."""
        return self.out.logits(self._features(self._ids(contexts)))

    def loss(self, contexts: Contexts, targets: Contexts, rng: torch.Generator | None = None) -> Tensor:
        """The training loss of each window [B], in nats, with gradients; the caller sums and divides.

        `rng` draws the dropout masks and what a sampling head samples; without it nothing is dropped.
        """
        ids_Bc = self._ids(contexts)
        return self.loss_of(ids_Bc, self._targets(targets, ids_Bc), rng)

    def loss_of(self, ids_Bc: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """`loss` of int64 ids that are known to be right and lie where the model does; waits for no accelerator."""
        return self.out.loss(self._features(ids_Bc, rng), y_B, rng)

    # ---- the contract ----

    @property
    def linear(self) -> bool:
        """Whether P is the softmax of b + W x + U a, however it is trained; the head says."""
        return self.out.linear

    @torch.no_grad()
    def log_probs(self, contexts: Contexts) -> NDArray[np.float64]:
        """log softmax(y) in float64, [B, V]."""
        return _numpy(self.out.log_probs(self._features(self._ids(contexts))))

    @torch.no_grad()
    def context_nll(self, contexts: Contexts, targets: Contexts) -> NDArray[np.float64]:
        """log Σ e^y − y_target in float64, [B]; the logits stand in blocks, never all at once."""
        ids_Bc = self._ids(contexts)
        return _numpy(self.out.nll(self._features(ids_Bc), self._targets(targets, ids_Bc)))

    def top(self, contexts: Contexts, k: int) -> TopK:
        """The `k` likeliest next tokens of each window, from single precision: log P is good to 10⁻⁶."""
        return scoring.top_k(self, contexts, k)

    def unnormalized(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−y_target in nats, float64 [B], where the head learned to be normalised: off from −log P by log Z, near 0."""
        if not self.out.self_normalised:
            return super().unnormalized(contexts, targets)
        return scoring.Scorer(self, windows=len(as_ids(contexts))).nll(contexts, targets)

    def _ids(self, contexts: Contexts) -> Tensor:
        """`contexts` as int64 [B, c] on the model's device, checked."""
        ids = _whole_numbers(contexts, self.vocab_size)
        if ids.ndim != 2 or ids.shape[1] != self.context:
            raise InputError(f"contexts of shape {list(ids.shape)}: expected [B, {self.context}], oldest token first")
        return ids.to(self.emb.weight.device)

    def _targets(self, targets: Contexts, ids_Bc: Tensor) -> Tensor:
        ids = _whole_numbers(targets, self.vocab_size)
        if ids.shape != (len(ids_Bc),):
            raise InputError(f"targets of shape {list(ids.shape)}: expected [{len(ids_Bc)}], one a context")
        return ids.to(self.emb.weight.device)

    # ---- for people ----

    @property
    def summary(self) -> str:
        """Its sizes and options, in a line."""
        return panels.summary(self.config())

    def network(self) -> Network:
        """The same network in float64 NumPy: every number kept, and the backward pass by hand."""
        s, trained = self.settings, {name: bool(p.requires_grad) for name, p in self.named_parameters()}
        frozen = frozenset(name for name, trains in trained.items() if not trains)
        whole = None if self.out.linear else Examined(self)
        weights = {name: np.array(array, np.float64) for name, array in self.state().items() if name in trained}
        return Network(weights, s.activation, s.tie, frozen, whole)

    def explain(self, context: NDArray[np.int64], words: Sequence[int]) -> tuple[Panel, ...]:
        """Its vectors, layers, scores and probabilities after one window `context` [c]."""
        network = self.network()
        return panels.explain(network, network.forward(np.asarray(context, np.int64)), words)

    # ---- training and saving ----

    def set_precision(self, precision: str) -> str:
        """How the training loss multiplies: `fp32`, `bf16`, or `auto`, bf16 where the device has units for it.

        Returns the one chosen. Weights, gradients and everything that scores stay in the model's own precision.
        """
        if precision not in {"fp32", "bf16", "auto"}:
            raise InputError(f"precision {precision!r}: expected fp32, bf16 or auto")
        if precision == "auto":
            precision = "bf16" if has_bf16_units(self.emb.weight.device) else "fp32"
        self.out.precision = precision
        return precision

    def param_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Optimiser groups: every trained matrix with `weight_decay`, every trained bias without."""
        trained = [(name, p) for name, p in self.named_parameters() if p.requires_grad]
        return [
            {"params": [p for name, p in trained if not name.endswith("bias")], "weight_decay": weight_decay},
            {"params": [p for name, p in trained if name.endswith("bias")], "weight_decay": 0.0},
        ]

    def contract_config(self) -> dict[str, Any]:
        """What `config.json` holds: the sizes every reader of the format knows, and nothing else."""
        s = self.settings
        return {
            "tl_arch": "nplm",
            "vocab_size": s.vocab,
            "tl_context": s.context,
            "tl_d_emb": s.d_emb,
            "hidden_size": s.hidden_size,
            "tl_direct": s.direct,
        }

    def config(self) -> dict[str, Any]:
        """Every choice, as JSON values: the arguments that build this model again."""
        return {**asdict(self.settings), "d_hidden": self.settings.hidden_size}

    def state(self) -> State:
        """The weights as NumPy arrays, by state-dict key and in its order."""
        return {name: _numpy(tensor) for name, tensor in self.state_dict().items()}

    def size(self) -> Size:
        """The free parameters; tables that a head makes of counts are none."""
        free = sum(p.numel() for p in self.parameters())
        return Size(free, "parameters", sum(a.numel() * a.element_size() for a in self.state_dict().values()))

    @classmethod
    def from_state(cls, config: Mapping[str, Any], state: State, parts: Sequence[LanguageModel] = ()) -> Self:
        """The model that gave `config()` and `state()`."""
        model = cls.of(config)
        model.load_state_dict(state)
        return model


def _drop(a: Tensor, share: float, rng: torch.Generator | None) -> Tensor:
    """Inverted dropout: each number is kept with probability 1 − share and divided by it."""
    if rng is None or share == 0:
        return a
    keep = torch.rand(a.shape, generator=rng, device=a.device, dtype=a.dtype) >= share
    return a * keep / (1 - share)


def _whole_numbers(values: Contexts, vocab_size: int) -> Tensor:
    """Ids as an int64 tensor; a tensor of them is checked without leaving PyTorch, which costs microseconds."""
    if not isinstance(values, Tensor):
        ids = as_ids(values, vocab_size)
        return torch.from_numpy(ids if ids.flags.writeable else ids.copy())  # PyTorch warns of read-only memory
    if values.dtype != torch.int64:
        return torch.from_numpy(as_ids(values, vocab_size)).to(values.device)
    if not is_compiling() and values.numel():  # a program cannot stop to look; whoever runs one checks
        low, high = (int(end) for end in values.aminmax())
        if low < 0 or high >= vocab_size:
            raise InputError(f"id {low if low < 0 else high} is outside the vocabulary: expected 0 … {vocab_size - 1}")
    return values


def _numpy(values: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = values.detach().cpu().numpy()
    return array


def _nested_lists_to_tensors(module: nn.Module, state: dict[str, Any], *_: object) -> None:
    """Lets `load_state_dict` take nested lists and NumPy arrays."""
    for name, values in state.items():
        if not isinstance(values, Tensor):
            state[name] = torch.as_tensor(np.asarray(values, np.float64))
