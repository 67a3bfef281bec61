"""What a case of the contract answers: it holds, or where it first differs and which pitfall that looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Difference(NamedTuple):
    """The first number that differs: what it is, the module's value and the one expected."""

    what: str
    found: float | str
    expected: float | str


class ContractError(Exception):
    """A case that does not hold; `pitfall` names a fault of `PITFALLS` where its numbers fit one."""

    def __init__(self, message: str, difference: Difference | None = None, pitfall: str | None = None) -> None:
        super().__init__(message)
        self.difference = difference
        self.pitfall = pitfall


class Verdict(NamedTuple):
    """One case: `outcome` is held, failed, error, skipped or timeout; a case that held may have a `message` too."""

    case: str
    says: str
    outcome: str
    message: str = ""
    difference: Difference | None = None
    pitfall: str | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {**self._asdict(), "difference": self.difference._asdict() if self.difference else None}


def close(found: Floats, expected: Floats, tolerance: float) -> bool:
    """Whether two arrays have one shape and agree within `tolerance`, absolute and relative."""
    return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=tolerance, atol=tolerance))


def first_difference(what: str, found: Floats, expected: Floats, tolerance: float) -> Difference:
    """Where two arrays first differ, by index; or their shapes, if these do."""
    if found.shape != expected.shape:
        return Difference(f"shape of {what}", str(list(found.shape)), str(list(expected.shape)))
    apart = ~np.isclose(found, expected, rtol=tolerance, atol=tolerance)
    index = tuple(int(i) for i in np.argwhere(apart)[0])
    return Difference(what + "".join(f"[{i}]" for i in index), float(found[index]), float(expected[index]))


def expect(
    what: str,
    found: Any,
    expected: Any,
    *,
    faults: Sequence[tuple[str, Any]] = (),
    tolerance: float = 2e-5,
    message: str = "",
) -> None:
    """Raise `ContractError` unless `found` is `expected`; of `faults` (pitfall, numbers) name the one that fits."""
    got, wanted = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if close(got, wanted, tolerance):
        return
    fits = [name for name, value in faults if close(got, np.asarray(value, np.float64), tolerance)]
    difference = first_difference(what, got, wanted, tolerance)
    raise ContractError(message or f"{what} differs", difference, fits[0] if fits else None)


def expect_params(
    found: Mapping[str, Floats],
    expected: Mapping[str, Floats],
    faults: Sequence[tuple[str, Mapping[str, Floats]]] = (),
    *,
    tolerance: float = 2e-5,
    message: str = "",
) -> None:
    """The same for a set of parameters: a fault fits where every parameter is what it would give."""
    wrong = [name for name in expected if not close(found[name], expected[name], tolerance)]
    if not wrong:
        return
    fits = [name for name, given in faults if all(close(found[key], given[key], tolerance) for key in expected)]
    difference = first_difference(wrong[0], found[wrong[0]], expected[wrong[0]], tolerance)
    raise ContractError(message or f"{', '.join(wrong)} differ", difference, fits[0] if fits else None)
