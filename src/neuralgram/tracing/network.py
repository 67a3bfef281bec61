"""A network's forward pass in float64 NumPy, straight from its weights, with every number kept.

    x = [C[w(t−c)]; …; C[w(t−1)]]     z = d + H x     a = tanh(z)     y = b + W x + U a     p = softmax(y)

With several hidden layers z2 = d2 + H2 a, and so on; tied output vectors put C (or C P, with a projection)
in the place of U. Shapes: c context, m embedding, X = c·m, h hidden, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.tracing.activations import ACTIVATIONS, Activation
from neuralgram.tracing.steps import Floats

Weights = Mapping[str, Floats]

# Output layers that are scored by the exact softmax of b + W x + U a, however they are trained.
LINEAR_HEADS = ("softmax", "sampled", "nce")


class Forward(NamedTuple):
    """Every quantity of one prediction; `z`, `a` have one entry a hidden layer; None where a part is missing."""

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
    """The weights of an NPLM in float64, by state-dict key, with the choices that say how they are used."""

    weights: Weights
    activation_name: str
    tie: bool
    frozen: frozenset[str] = frozenset()

    @classmethod
    def of(cls, model: Any) -> Network:
        """The network of an `NPLM`; refuses an output layer whose scores are not b + W x + U a."""
        config = model.config()
        if config["head"] not in LINEAR_HEADS:
            raise InputError(f"a network with the head {config['head']!r}: expected one of {', '.join(LINEAR_HEADS)}")
        trained = {name: bool(p.requires_grad) for name, p in model.named_parameters()}
        frozen = frozenset(name for name, trains in trained.items() if not trains)
        weights = {name: np.asarray(array, np.float64) for name, array in model.state().items() if name in trained}
        return cls(weights, config["activation"], bool(config["tie"]), frozen)

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
    a: tuple[Floats, ...]  # ∂ℓ/∂a, [h] each
    slope: tuple[Floats, ...]  # f′(z), [h] each
    delta: tuple[Floats, ...]  # ∂ℓ/∂a ⊙ f′(z), [h] each
    x: Floats  # [X]


def gradients(network: Network, f: Forward, target: int) -> Gradients:
    """The gradients of −log p[target], derived by hand; a row of C adds up what each of its places receives."""
    w, grads = network.weights, {}
    g_y = f.p.copy()
    g_y[target] -= 1.0  # p − e_w
    g_x = np.zeros_like(f.x)
    if "direct.weight" in w:
        grads["direct.weight"] = np.outer(g_y, f.x)
        g_x = w["direct.weight"].T @ g_y
    above: list[Floats] = []
    slopes: list[Floats] = []
    deltas: list[Floats] = []
    if f.g is not None and network.output is not None:
        grads["output"] = np.outer(g_y, f.g)
        back = network.output.T @ g_y
        if "project.weight" in w:
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
        g_x = g_x + back
    g_C = np.zeros_like(w["emb.weight"])
    np.add.at(g_C, f.ids, g_x.reshape(len(f.ids), -1))  # a repeated word adds up
    output = grads.pop("output", None)
    if output is not None and network.tie:
        g_C += output
    elif output is not None:
        grads["out.weight"] = output
    grads |= {"emb.weight": g_C, "out.bias": g_y}
    ordered = {name: grads[name] for name in w}
    return Gradients(ordered, g_y, tuple(above), tuple(slopes), tuple(deltas), g_x)
