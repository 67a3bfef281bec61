"""The gradient of any parameter beside its central finite difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from neuralgram.tracing.algebra import given
from neuralgram.tracing.names import locate
from neuralgram.tracing.network import Forward, Network, gradients
from neuralgram.tracing.steps import Index, Section, number


@dataclass(frozen=True)
class Difference:
    """One entry of a gradient beside its central difference (ℓ(θ + ε) − ℓ(θ − ε)) / 2ε."""

    name: str
    symbol: str
    index: Index
    value: float
    gradient: float
    difference: float
    epsilon: float

    @property
    def error(self) -> float:
        """|gradient − difference|, against the larger of the two where that is above 1."""
        return abs(self.gradient - self.difference) / max(1.0, abs(self.gradient), abs(self.difference))

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {**self.__dict__, "index": list(self.index), "error": self.error}


def finite_differences(
    network: Network, f: Forward, target: int, places: Iterable[str], row_of: Callable[[str, str], int | None]
) -> list[Difference]:
    """The gradient at each of `places` (`H[0][1]`, `C[cat][0]`) beside its central difference in float64."""
    exact = gradients(network, f, target).parameters
    out = []
    for place in places:
        name, index = locate(place, network.weights, row_of)
        theta = float(network.weights[name][index])
        epsilon = 1e-5 * max(1.0, abs(theta))

        def moved(to: float, name: str = name, index: Index = index) -> float:
            weights = dict(network.weights)
            weights[name] = weights[name].copy()
            weights[name][index] = to
            return network.with_weights(weights).loss(f.ids, target)

        difference = (moved(theta + epsilon) - moved(theta - epsilon)) / (2 * epsilon)
        out.append(Difference(name, place.strip(), index, theta, float(exact[name][index]), difference, epsilon))
    return out


def difference_section(found: list[Difference]) -> Section:
    """The finite differences as a table."""
    values = {
        "θ": [d.value for d in found],
        "∂θ": [d.gradient for d in found],
        "Δ": [d.difference for d in found],
        "error": [d.error for d in found],
    }
    equations = {
        "θ": "the parameter",
        "∂θ": "by the chain rule",
        "Δ": "Δ = (ℓ(θ + ε) − ℓ(θ − ε)) / 2ε",
        "error": "|∂θ − Δ|",
    }

    def name(i: int) -> str:
        return found[i].symbol

    steps = tuple(given(key, value, equation=equations[key], rows=name) for key, value in values.items())
    return Section("Checked by finite differences", f"ε = {number(found[0].epsilon)}", steps, row_name="parameter")
