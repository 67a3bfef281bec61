"""The hidden layer's activations, their derivatives and how both are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neuralgram.tracing.steps import Floats

_FLAT = 0.02  # a unit is saturated where its derivative is below this share of the largest there is


@dataclass(frozen=True)
class Activation:
    """a = f(z): `f(z)`, `slope(z, a)` = f′(z), the formulas of both, and f′ at its steepest."""

    f: Callable[[Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]
    formula: str
    slope_formula: str
    steepest: float

    def saturated(self, slope: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which units hardly let an error through: |a| > 0.99 for tanh, a = 0 for relu."""
        return np.asarray(slope < _FLAT * self.steepest, np.bool_)


def sigmoid(z: Floats) -> Floats:
    """σ(z) = 1/(1 + e^−z), by way of tanh, which does not overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z)), np.float64)


ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(np.tanh, lambda z, a: 1.0 - a * a, "tanh({z})", "1 − {a}²", 1.0),
    "relu": Activation(
        lambda z: np.maximum(z, 0.0),
        lambda z, a: np.asarray(z > 0, np.float64),
        "max(0, {z})",
        "1 if {z} > 0, else 0",
        1.0,
    ),
    "sigmoid": Activation(sigmoid, lambda z, a: a * (1.0 - a), "1 / (1 + exp(−{z}))", "{a}·(1 − {a})", 0.25),
    "identity": Activation(lambda z: z, lambda z, a: np.ones_like(z), "{z}", "1", 1.0),
}
