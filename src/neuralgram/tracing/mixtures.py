"""One prediction of a mixture as a section: each part's probability and its weight in this context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.numbers import number
from neuralgram.tracing.formulas import listed
from neuralgram.tracing.names import Words
from neuralgram.tracing.steps import Floats, Index, Section

if TYPE_CHECKING:
    from neuralgram.tracing.result import Part


def weights_of(mixture: Any, ids: NDArray[np.int64]) -> Floats:
    """The weights [parts] a mixture gives its parts after the window `ids`."""
    return np.asarray(mixture.weights[bin_of(mixture, ids) or 0], np.float64)


def bin_of(mixture: Any, ids: NDArray[np.int64]) -> int | None:
    """The bin whose weights the window `ids` has; None where all windows have the same."""
    return None if mixture.bins is None else int(mixture.bins(ids[None, :])[0])


def mixture_sections(parts: tuple[Part, ...], log_p: Floats, words: Words, found: int | None) -> list[Section]:
    """p = Σ_i λ_i p_i, part by part, with the weights of bin `found` (None: there are no bins)."""
    weights = [part.weight for part in parts]
    shares = np.stack([np.exp(part.trace.log_p) for part in parts], axis=1)
    columns = [f"p{i + 1}" for i in range(len(parts))]
    names = "; ".join(
        f"p{i + 1} is {part.trace.summary}; λ{i + 1} = {number(part.weight)}" for i, part in enumerate(parts)
    )

    def explain_part(index: Index) -> tuple[str, str]:
        return f"part {index[1] + 1} by itself", ""

    def explain(index: Index) -> tuple[str, str]:
        row = index[0]
        general = " + ".join(f"λ{i + 1}·p{i + 1}" for i in range(len(parts)))
        return general, " + ".join(f"{number(w)}·{number(float(shares[row, i]))}" for i, w in enumerate(weights))

    steps = (
        listed("p_i", shares, explain_part, equation="each part's own probability", rows=words.name, columns=columns),
        listed("p", np.exp(log_p), explain, equation="p = Σ_i λ_i p_i", rows=words.name),
    )
    where = "" if found is None else f" How often the window's last tokens occur in training puts it into bin {found}."
    return [Section("The mixture", f"{names}.{where}", steps, "word", words.shown, words.marks, bars="p")]
