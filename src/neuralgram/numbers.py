"""Numbers as a person reads them, in a terminal, a report, a formula or a page."""

from __future__ import annotations

import math


def spaced(value: float, places: int = 0) -> str:
    """A number with its thousands set apart by a space: 91406 is `91 406`."""
    return f"{value:,.{places}f}".replace(",", " ")


def figure(value: float | None, digits: int = 4) -> str:
    """A number of a table: `digits` significant digits, thousands set apart, a dash for none; whole numbers whole.

    >>> figure(91406.3), figure(0.5), figure(0.0000123), figure(2048), figure(None)
    ('91 406', '0.500', '1.230e-05', '2 048', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, int):
        return spaced(value)
    if not math.isfinite(value):
        return str(float(value))
    if value and abs(value) < 10**-digits:
        return f"{value:.{digits - 1}e}"
    whole = len(str(int(abs(value))))
    return spaced(value, max(0, digits - whole))


def plain(value: object) -> str:
    """A setting's value: whole numbers with their thousands apart, others to six digits, yes or no, a dash for none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return spaced(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None or value in ({}, [], ()) else str(value)


def number(value: float) -> str:
    """A number as a formula shows it: four decimals at most, small and huge ones in scientific notation.

    >>> number(-0.5), number(2.0), number(0.00001234)
    ('−0.5', '2', '1.23e−05')
    """
    if not math.isfinite(value):
        text = "nan" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    elif float(value).is_integer() and abs(value) < 1e12:
        text = spaced(int(value))
    elif value and not 1e-3 <= abs(value) < 1e6:
        text = f"{value:.2e}"
    else:
        text = f"{value:.4f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


def bracketed(value: float) -> str:
    """The same inside a product or sum: negative numbers stand in brackets."""
    text = number(value)
    return f"({text})" if text.startswith("−") else text
