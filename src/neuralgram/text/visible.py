"""How a person is shown a token: white space and control characters can be seen."""

from __future__ import annotations

_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}


def visible(token: str) -> str:
    """`token` with a sign for each space, line end and tab, an escape for what else does not print, ∅ for nothing.

    >>> visible(" the"), visible("\\n"), visible("\\x07"), visible("")
    ('␣the', '⏎', '\\\\x07', '∅')
    """
    return "".join(_SIGNS.get(c) or (c if c.isprintable() else repr(c)[1:-1]) for c in token) or "∅"
