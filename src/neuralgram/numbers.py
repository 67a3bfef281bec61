"""Numbers as a person reads them in a terminal or a report."""

from __future__ import annotations


def spaced(value: float, places: int = 0) -> str:
    """A number with its thousands set apart by a space: 91406 is `91 406`."""
    return f"{value:,.{places}f}".replace(",", " ")
