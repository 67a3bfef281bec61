"""The golden record holds, whatever machine this is: fractions to a tolerance, all else exactly (see `golden.py`)."""

import pytest

from tests import golden

FAMILIES = sorted({name.split("/")[0] for name in golden.ENTRIES})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_entry_is_as_recorded(family: str) -> None:
    with golden.workplace():
        found = {name: golden.check(name, exact=False) for name in golden.selected([f"{family}/*"], quick=True)}
    assert {name: lines[:6] for name, lines in found.items() if lines} == {}


def test_a_difference_is_seen_and_named() -> None:
    was = {"a": [1.0, 2], "sha256": "x", "b": "text"}
    assert golden.differences("weights/x", was, {**was, "new": 1, "sha256": "y"}, exact=False) == []
    assert golden.differences("weights/x", was, {**was, "sha256": "y"}, exact=True) == [".sha256: 'x', now 'y'"]
    assert golden.differences("weights/x", was, {"a": [1.001, 2, 3], "b": "t"}, exact=False) == [
        ".a: 2 items, now 3",
        ".a[0]: 1.0, now 1.001",
        ".b: 'text', now 't'",
    ]
    assert golden.differences("ngrams/x", was, {"a": [1.0, 2]}, exact=False) == [".b: gone"]
