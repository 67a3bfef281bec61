"""The network in float64 NumPy, for people: the equation with every number kept, and its one backward pass by hand.

    x = [C[w(t−c)]; …; C[w(t−1)]]      oldest first
    z = d + H x        a = f(z)        f is tanh, or another activation; deeper: z2 = d2 + H2 a, …
    y = b + W x + U a                  p = softmax(y)              ℓ = −log p[w]

One example with target w, e_w its one-hot vector, from the scores back to the table:

    ∂y = p − e_w       ∂U = ∂y aᵀ      ∂b = ∂y      ∂W = ∂y xᵀ
    ∂a = Uᵀ ∂y         δ = ∂a ⊙ f′(z)  ∂H = δ xᵀ    ∂d = δ
    ∂x = Hᵀ δ + Wᵀ ∂y, and row C[w(t−j)] receives block j of it, added up where a word repeats.

Tied output vectors put C in the place of U, and g = P a, with a projection P, in the place of a. Another head than the
softmax of b + W x + U a gives P itself, and autograd what comes back through it (`whole`). PyTorch computes the same in
`nplm.py`; tests hold one against the other.

Shapes: c context, m embedding, X = c·m, h hidden, V vocabulary; `…` is nothing for one window, B for a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from neuralgram.neural.examined import Examined

Floats: TypeAlias = NDArray[np.float64]
Weights: TypeAlias = Mapping[str, Floats]

_FLAT = 0.02  # a unit is saturated where its derivative is below this share of the largest there is
_BY_TOKEN = ("out.weight", "out.bias", "direct.weight")


@dataclass(frozen=True)
class Activation:
    """a = f(z): `f(z)`, `slope(z, a)` = f′(z), the formulas of both, and f′ at its steepest."""

    f: Callable[[Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]
    formula: str
    slope_formula: str
    steepest: float

    def saturated(self, slope: Floats) -> NDArray[np.bool_]:
        """Which units hardly let an error through: |a| > 0.99 for tanh, a = 0 for relu."""
        return np.asarray(slope < _FLAT * self.steepest, np.bool_)


ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(np.tanh, lambda z, a: 1.0 - a * a, "tanh({z})", "1 − {a}²", 1.0),
    "relu": Activation(
        lambda z: np.maximum(z, 0.0),
        lambda z, a: np.asarray(z > 0, np.float64),
        "max(0, {z})",
        "1 if {z} > 0, else 0",
        1.0,
    ),
    "sigmoid": Activation(
        lambda z: 0.5 * (1.0 + np.tanh(0.5 * z)),  # = 1/(1 + e^−z), and cannot overflow
        lambda z, a: a * (1.0 - a),
        "1 / (1 + exp(−{z}))",
        "{a}·(1 − {a})",
        0.25,
    ),
    "identity": Activation(lambda z: z, lambda z, a: np.ones_like(z), "{z}", "1", 1.0),
}


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores y […, V] and what the softmax makes of them."""

    y: Floats

    @property
    def highest(self) -> Floats:
        """max y, […, 1]: taken from every score, so that exp cannot overflow."""
        return np.asarray(self.y.max(axis=-1, keepdims=True), np.float64)

    @property
    def e(self) -> Floats:
        """exp(y − max y), […, V]."""
        return np.asarray(np.exp(self.y - self.highest), np.float64)

    @cached_property
    def p(self) -> Floats:
        """softmax(y), […, V]."""
        e = self.e
        return np.asarray(e / e.sum(axis=-1, keepdims=True), np.float64)

    @cached_property
    def log_p(self) -> Floats:
        """log softmax(y), […, V]."""
        e = self.e
        return np.asarray(self.y - self.highest - np.log(e.sum(axis=-1, keepdims=True)), np.float64)

    def loss(self, targets: ArrayLike) -> Floats:
        """ℓ = −log p[target], in nats, […]."""
        return -np.take_along_axis(self.log_p, np.asarray(targets)[..., None], axis=-1)[..., 0]


@dataclass(frozen=True, eq=False)
class Forward(Scores):
    """Every quantity of a prediction, or of a batch of them; `z`, `a` have one entry a hidden layer.

    Where the head has its own way to P, y is log P.
    """

    ids: NDArray[np.int64]  # […, c]
    x: Floats  # […, X]
    z: tuple[Floats, ...]  # […, h] each
    a: tuple[Floats, ...]  # […, h] each
    g: Floats | None  # what meets the output vectors: the last a, or P a; None without a hidden layer


class Gradients(NamedTuple):
    """∂ of the mean of ℓ over the windows: at every quantity on the way back, and by parameter."""

    parameters: dict[str, Floats]  # by state-dict key
    y: Floats  # p − e_w, […, V]
    g: Floats  # at what meets the output vectors; empty without a hidden layer
    a: tuple[Floats, ...]  # ∂ℓ/∂a, […, h] each
    slope: tuple[Floats, ...]  # f′(z), […, h] each
    delta: tuple[Floats, ...]  # ∂ℓ/∂a ⊙ f′(z), […, h] each
    past: Floats  # the part of ∂x that does not come through the hidden layers; 0 without the direct path
    x: Floats  # […, X]


@dataclass(frozen=True, eq=False)
class Network:
    """The weights of an NPLM in float64, by state-dict key, with the choices that say how they are used.

    frozen    parameters that training leaves alone
    whole     the network with its head, where P is not the softmax of b + W x + U a; else None
    """

    weights: Weights
    activation_name: str = "tanh"
    tie: bool = False
    frozen: frozenset[str] = frozenset()
    whole: Examined | None = None

    @property
    def by_token(self) -> tuple[str, ...]:
        """The parameters a row of which is a word's, C aside."""
        return _BY_TOKEN if self.whole is None else self.whole.by_token

    @property
    def activation(self) -> Activation:
        """The hidden layers' activation."""
        return ACTIVATIONS[self.activation_name]

    @property
    def layers(self) -> list[str]:
        """Names of the hidden layers, first to last."""
        return [name.removesuffix(".weight") for name in self.weights if name.startswith("hidden") and "weight" in name]

    @property
    def output(self) -> Floats | None:
        """U [V, h], or C [V, m] where tied; None without a hidden layer."""
        return self.weights["emb.weight"] if self.tie else self.weights.get("out.weight")

    def with_weights(self, weights: Weights) -> Network:
        """The same network with other numbers."""
        return replace(self, weights=weights)

    def forward(self, ids: NDArray[np.int64]) -> Forward:
        """Every number of the prediction after each window `ids` […, c], oldest token first."""
        w = self.weights
        x = w["emb.weight"][ids].reshape(*ids.shape[:-1], -1)
        z: list[Floats] = []
        a: list[Floats] = []
        for name in self.layers:
            below = a[-1] if a else x
            z.append(w[f"{name}.bias"] + below @ w[f"{name}.weight"].T)
            a.append(self.activation.f(z[-1]))
        g = None if not a else a[-1] @ w["project.weight"].T if "project.weight" in w else a[-1]
        if self.whole is None:
            y = sum(self.parts(x, g).values(), w["out.bias"])
        else:
            y = self.whole.log_probs(w, np.atleast_2d(ids)).reshape(*ids.shape[:-1], -1)
        return Forward(y, ids, x, tuple(z), tuple(a), g)

    def parts(self, x: Floats, g: Floats | None) -> dict[str, Floats]:
        """What the scores are the sum of, besides b, […, V] each: `hidden` U a and `direct` W x, where they are."""
        found = {}
        if g is not None and self.output is not None:
            found["hidden"] = g @ self.output.T
        if "direct.weight" in self.weights:
            found["direct"] = x @ self.weights["direct.weight"].T
        return found

    def backward(self, f: Forward, targets: ArrayLike) -> Gradients:
        """The gradients of the mean of ℓ = −log p[target] over the windows; `targets` […]."""
        w = self.weights
        g_y = f.p - (np.arange(f.p.shape[-1]) == np.asarray(targets)[..., None])  # p − e_w
        g_y /= math.prod(f.ids.shape[:-1])  # the mean over the windows; a single one is 1
        whole = self.whole
        grads, g_g, past = self._out_of_scores(f, g_y) if whole is None else self._out_of_head(whole, f, targets)
        back, g_x = g_g, past
        g_a: list[Floats] = []
        slopes: list[Floats] = []
        deltas: list[Floats] = []
        if f.a and "project.weight" in w:
            grads["project.weight"] = _outer(back, f.a[-1])
            back = back @ w["project.weight"]
        for i in reversed(range(len(f.a))):
            name, below = self.layers[i], f.a[i - 1] if i else f.x
            g_a.insert(0, back)
            slopes.insert(0, self.activation.slope(f.z[i], f.a[i]))
            deltas.insert(0, back * slopes[0])
            grads[f"{name}.weight"] = _outer(deltas[0], below)
            grads[f"{name}.bias"] = _sum(deltas[0])
            back = deltas[0] @ w[f"{name}.weight"]
        if f.a:
            g_x = past + back
        if whole is None:
            np.add.at(grads["emb.weight"], f.ids.ravel(), g_x.reshape(f.ids.size, -1))  # a repeated word adds up
        parameters = {name: grads[name] for name in w}
        return Gradients(parameters, g_y, g_g, tuple(g_a), tuple(slopes), tuple(deltas), past, g_x)

    def _out_of_scores(self, f: Forward, g_y: Floats) -> tuple[dict[str, Floats], Floats, Floats]:
        """What ∂y gives the output layer's parameters, what meets the output vectors, and x by the direct path."""
        w, g_g, past = self.weights, np.empty(0), np.zeros_like(f.x)
        grads = {"emb.weight": np.zeros_like(w["emb.weight"]), "out.bias": _sum(g_y)}
        if "direct.weight" in w:
            grads["direct.weight"] = _outer(g_y, f.x)
            past = g_y @ w["direct.weight"]
        if f.g is not None and self.output is not None:
            grads["emb.weight" if self.tie else "out.weight"] = _outer(g_y, f.g)
            g_g = g_y @ self.output
        return grads, g_g, past

    def _out_of_head(self, whole: Examined, f: Forward, targets: ArrayLike) -> tuple[dict[str, Floats], Floats, Floats]:
        """The same as autograd gives it, through a head that has its own way to P."""
        grads, g_f = whole.gradients(self.weights, np.atleast_2d(f.ids), np.atleast_1d(np.asarray(targets)))
        g_f = g_f.reshape(*f.ids.shape[:-1], -1)  # at [g; x]
        width, past = 0 if f.g is None else f.g.shape[-1], np.zeros_like(f.x)
        if g_f.shape[-1] > width:
            past += g_f[..., width:]
        return grads, g_f[..., :width], past


def _outer(left: Floats, right: Floats) -> Floats:
    """Σ over the windows of left rightᵀ, [L, R]."""
    return np.asarray(left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1]), np.float64)


def _sum(values: Floats) -> Floats:
    """Σ over the windows, [K]."""
    return np.asarray(values.reshape(-1, values.shape[-1]).sum(axis=0), np.float64)


# ---- the same in the textbook's names: E = C, W1 = Hᵀ, b1 = d, W2 = Uᵀ, b2 = b, W3 = Wᵀ or None ----

_KEYS = {
    "E": "emb.weight",
    "W1": "hidden.weight",
    "b1": "hidden.bias",
    "W2": "out.weight",
    "b2": "out.bias",
    "W3": "direct.weight",
}
_TURNED = ("W1", "W2", "W3")


def nplm_params(V: int, d: int, n: int, dh: int, direct: bool) -> int:
    """Free parameters of the model of order `n` (context n − 1).

    >>> nplm_params(16383, 30, 5, 100, False)
    2158273
    """
    x = (n - 1) * d
    return V * d + (x * dh + dh) + (dh * V + V) + (x * V if direct else 0)


def nplm_loss(P: Mapping[str, Any], X: ArrayLike, Y: ArrayLike) -> tuple[float, Floats]:
    """Mean cross-entropy in nats of targets Y [B] after contexts X [B, n − 1], oldest first, and logits [B, V].

    P has E [V, d], W1 [(n−1)d, h], b1 [h], W2 [h, V], b2 [V], W3 [(n−1)d, V] or None.
    """
    f = _of(P).forward(np.asarray(X, np.int64))
    return float(f.loss(np.asarray(Y, np.int64)).mean()), f.y


def nplm_grads(P: Mapping[str, Any], X: ArrayLike, Y: ArrayLike) -> dict[str, Floats]:
    """Gradients of `nplm_loss` by parameter name, averaged over the batch; W3 only where P has it."""
    network = _of(P)
    found = network.backward(network.forward(np.asarray(X, np.int64)), np.asarray(Y, np.int64)).parameters
    return {name: found[key].T if name in _TURNED else found[key] for name, key in _KEYS.items() if key in found}


def _of(P: Mapping[str, Any]) -> Network:
    given = {name: np.asarray(P[name], np.float64) for name in _KEYS if P.get(name) is not None}
    return Network({_KEYS[name]: array.T if name in _TURNED else array for name, array in given.items()})
