"""Steps that know their formula: what is computed here can also be written out with its numbers filled in."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from neuralgram.explanation import products
from neuralgram.numbers import bracketed, number
from neuralgram.tracing.steps import Floats, Formula, Index, Namer, Step, symbol


def given(
    name: str,
    value: Floats | float | Sequence[float],
    *,
    equation: str = "",
    rows: Namer | None = None,
    columns: Sequence[str] = (),
    note: str = "",
) -> Step:
    """A quantity that is simply there: a parameter, an input, a count."""
    values = np.asarray(value, np.float64)

    def explain(index: Index) -> Formula:
        return Formula(symbol(name, index, rows, columns), "", "", float(values[index]))

    return Step(name, equation, values, explain, {}, rows, tuple(columns), note)


def elementwise(
    name: str,
    template: str,
    value: Floats | float,
    inputs: Mapping[str, Floats | float],
    *,
    equation: str | None = None,
    rows: Namer | None = None,
    columns: Sequence[str] = (),
    note: str = "",
) -> Step:
    """A quantity each of whose numbers comes from the numbers of `inputs` at the same index.

    `template` is the formula with the inputs' names in braces: `exp({y} − {max})`. An input with fewer
    dimensions than the value is read at the leading ones, so a single number serves every index.
    """
    values = np.asarray(value, np.float64)
    arrays = {letter: np.asarray(array, np.float64) for letter, array in inputs.items()}

    def explain(index: Index) -> Formula:
        at = {letter: index[: array.ndim] for letter, array in arrays.items()}
        names = {letter: symbol(letter, at[letter], rows, columns) for letter in arrays}
        numbers = {letter: bracketed(float(array[at[letter]])) for letter, array in arrays.items()}
        filled = _unwrap(template.format(**numbers), template)
        return Formula(symbol(name, index, rows, columns), template.format(**names), filled, float(values[index]))

    general = template.format(**{letter: letter for letter in arrays})
    return Step(
        name,
        f"{name} = {general}" if equation is None else equation,
        values,
        explain,
        arrays,
        rows,
        tuple(columns),
        note,
    )


def _unwrap(filled: str, template: str) -> str:
    """Drops the brackets of a negative number that already stands alone inside a function's brackets."""
    fields = [name for _, name, _, _ in string.Formatter().parse(template) if name]
    return filled.replace("((", "(").replace("))", ")") if len(fields) == 1 and "({" in template else filled


def contraction(
    name: str,
    weight: Floats,
    vector: Floats,
    *,
    letters: tuple[str, str, str],
    bias: Floats | None = None,
    equation: str = "",
    rows: Namer | None = None,
    note: str = "",
) -> Step:
    """value[r] = bias[r] + Σ_k weight[r][k]·vector[k]; `letters` name bias, weight and vector."""
    total = weight @ vector
    if bias is not None:
        total = total + bias
    bias_letter, weight_letter, vector_letter = letters

    def explain(index: Index) -> Formula:
        row = index[0]
        here = str(row) if rows is None else rows(row)
        general = f"Σ_k {weight_letter}[{here}][k]·{vector_letter}[k]"
        start = [] if bias is None else [number(float(bias[row]))]
        if bias is not None:
            general = f"{bias_letter}[{here}] + {general}"
        filled = " + ".join(start + products(weight[row], vector))
        return Formula(symbol(name, index, rows), general, filled, float(total[row]))

    inputs = {weight_letter: weight, vector_letter: vector} | ({} if bias is None else {bias_letter: bias})
    return Step(name, equation or f"{name} = {weight_letter} {vector_letter}", total, explain, inputs, rows, (), note)


def listed(
    name: str,
    value: Floats | Sequence[float] | float,
    explain: Callable[[Index], tuple[str, str]],
    *,
    equation: str,
    inputs: Mapping[str, Floats] | None = None,
    rows: Namer | None = None,
    columns: Sequence[str] = (),
    note: str = "",
) -> Step:
    """A quantity whose formulas follow no common pattern: `explain(index)` gives (general, filled)."""
    values = np.asarray(value, np.float64)

    def formula(index: Index) -> Formula:
        general, filled = explain(index)
        return Formula(symbol(name, index, rows, columns), general, filled, float(values[index]))

    return Step(name, equation, values, formula, inputs or {}, rows, tuple(columns), note)
