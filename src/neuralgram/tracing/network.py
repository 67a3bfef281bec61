"""A network's forward pass in float64 NumPy, straight from its weights, with every number kept.

    x = [C[w(t−c)]; …; C[w(t−1)]]     z = d + H x     a = tanh(z)     y = b + W x + U a     p = softmax(y)

With several hidden layers z2 = d2 + H2 a, and so on; tied output vectors put C (or C P, with a projection)
in the place of U. Where the output layer is another, the head itself gives P and autograd the gradients (`whole`).
Shapes: c context, m embedding, X = c·m, h hidden, F features, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.tracing.activations import ACTIVATIONS, Activation
from neuralgram.tracing.steps import Floats

if TYPE_CHECKING:
    from neuralgram.neural.examined import Examined

Weights = Mapping[str, Floats]
_BY_TOKEN = ("out.weight", "out.bias", "direct.weight")


class Forward(NamedTuple):
    """Every quantity of one prediction; `z`, `a` have one entry a hidden layer; None where a part is missing.

    Where the head is another than the softmax of b + W x + U a, y is log P, and `direct` and `hidden` are None.
    """

    ids: NDArray[np.int64]  # [c]
    x: Floats  # [X]
    z: tuple[Floats, ...]  # [h] each
    a: tuple[Floats, ...]  # [h] each
    g: Floats | None  # what meets the output vectors: a, or P a with a projection
    direct: Floats | None  # W x, [V]
    hidden: Floats | None  # U a, [V]
    y: Floats  # [V]
    highest: float  # max y
    e: Floats  # exp(y − max y), [V]
    p: Floats  # [V]
    log_p: Floats  # [V]


@dataclass(frozen=True, eq=False)
class Network:
    """The weights of an NPLM in float64, by state-dict key, with the choices that say how they are used.

    whole     the network with its head, where P is not the softmax of b + W x + U a; else None
    """

    weights: Weights
    activation_name: str
    tie: bool
    frozen: frozenset[str] = frozenset()
    whole: Examined | None = None

    @classmethod
    def of(cls, model: Any) -> Network:
        """The network of an `NPLM`, or of what has its `config`, `state`, `named_parameters` and `linear`."""
        config = model.config()
        if not model.linear:
            from neuralgram.neural.examined import Examined

            whole = Examined(model)
            return cls(whole.weights(), config["activation"], bool(config["tie"]), whole.frozen, whole)
        trained = {name: bool(p.requires_grad) for name, p in model.named_parameters()}
        frozen = frozenset(name for name, trains in trained.items() if not trains)
        weights = {name: np.asarray(array, np.float64) for name, array in model.state().items() if name in trained}
        return cls(weights, config["activation"], bool(config["tie"]), frozen)

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
        """Every number of the prediction after the window `ids` [c], oldest first."""
        w = self.weights
        x = w["emb.weight"][ids].reshape(-1)
        z: list[Floats] = []
        a: list[Floats] = []
        for name in self.layers:
            z.append(w[f"{name}.bias"] + w[f"{name}.weight"] @ (a[-1] if a else x))
            a.append(self.activation.f(z[-1]))
        g = None if not a else w["project.weight"] @ a[-1] if "project.weight" in w else a[-1]
        if self.whole is not None:
            log_p = self.whole.log_probs(w, ids[None, :])[0]
            top, p = float(log_p.max()), np.exp(log_p)
            return Forward(ids, x, tuple(z), tuple(a), g, None, None, log_p, top, np.exp(log_p - top), p, log_p)
        hidden = None if g is None or self.output is None else self.output @ g
        direct = w["direct.weight"] @ x if "direct.weight" in w else None
        y = w["out.bias"] + sum(part for part in (direct, hidden) if part is not None)
        highest = float(y.max())
        e = np.exp(y - highest)
        total = e.sum()
        log_p = y - highest - np.log(total)
        return Forward(ids, x, tuple(z), tuple(a), g, direct, hidden, y, highest, e, e / total, log_p)

    def loss(self, ids: NDArray[np.int64], target: int) -> float:
        """ℓ = −log p[target], in nats."""
        return -float(self.forward(ids).log_p[target])


class Gradients(NamedTuple):
    """∂ℓ of one example: by parameter, and at the quantities on the way back."""

    parameters: dict[str, Floats]
    y: Floats  # p − e_w, [V]
    f: Floats | None  # at the features [g; x], [F]; None where they follow from y by the weights
    a: tuple[Floats, ...]  # ∂ℓ/∂a, [h] each
    slope: tuple[Floats, ...]  # f′(z), [h] each
    delta: tuple[Floats, ...]  # ∂ℓ/∂a ⊙ f′(z), [h] each
    x: Floats  # [X]


def gradients(network: Network, f: Forward, target: int) -> Gradients:
    """The gradients of −log p[target]; a row of C adds up what each of its places receives.

    Derived by hand, but for a head that has its own way to P: its gradients, and all parameters', are autograd's.
    """
    w = network.weights
    g_y = f.p.copy()
    g_y[target] -= 1.0  # p − e_w
    if network.whole is not None:
        by_autograd, g_features = network.whole.gradients(w, f.ids[None, :], np.array([target]))
        width = 0 if f.g is None else len(f.g)
        g_x = np.zeros_like(f.x)
        g_x[: g_features.shape[1] - width] = g_features[0, width:]  # nothing without the direct path
        back = _back(network, f, g_features[0, :width])
        return Gradients(by_autograd, g_y, g_features[0], back.a, back.slope, back.delta, g_x + back.x)
    grads: dict[str, Floats] = {}
    g_x, g_C = np.zeros_like(f.x), np.zeros_like(w["emb.weight"])
    if "direct.weight" in w:
        grads["direct.weight"] = np.outer(g_y, f.x)
        g_x = w["direct.weight"].T @ g_y
    top = np.empty(0)
    if f.g is not None and network.output is not None:
        output, top = np.outer(g_y, f.g), network.output.T @ g_y
        if network.tie:
            g_C += output
        else:
            grads["out.weight"] = output
    back = _back(network, f, top)
    g_x = g_x + back.x
    np.add.at(g_C, f.ids, g_x.reshape(len(f.ids), -1))  # a repeated word adds up
    grads |= {"emb.weight": g_C, "out.bias": g_y, **back.parameters}
    return Gradients({name: grads[name] for name in w}, g_y, None, back.a, back.slope, back.delta, g_x)


class _Back(NamedTuple):
    """The way back through the hidden layers: what `Gradients` says of them, and their part of ∂ℓ/∂x."""

    parameters: dict[str, Floats]
    a: tuple[Floats, ...]
    slope: tuple[Floats, ...]
    delta: tuple[Floats, ...]
    x: Floats


def _back(network: Network, f: Forward, g_top: Floats) -> _Back:
    """From ∂ℓ/∂g (what meets the output vectors) down to x; empty without a hidden layer."""
    w = network.weights
    grads: dict[str, Floats] = {}
    above: list[Floats] = []
    slopes: list[Floats] = []
    deltas: list[Floats] = []
    back = g_top
    if f.a and "project.weight" in w:
        grads["project.weight"] = np.outer(back, f.a[-1])
        back = w["project.weight"].T @ back
    for i in reversed(range(len(f.a))):
        name, below = network.layers[i], f.a[i - 1] if i else f.x
        above.insert(0, back)
        slopes.insert(0, network.activation.slope(f.z[i], f.a[i]))
        deltas.insert(0, back * slopes[0])
        grads[f"{name}.weight"] = np.outer(deltas[0], below)
        grads[f"{name}.bias"] = deltas[0]
        back = w[f"{name}.weight"].T @ deltas[0]
    return _Back(grads, tuple(above), tuple(slopes), tuple(deltas), back if f.a else np.zeros_like(f.x))
