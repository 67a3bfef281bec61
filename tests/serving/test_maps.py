"""Maps of vectors: axes that do not flip, names that stand clear, neighbours in all dimensions, the table."""

from __future__ import annotations

import numpy as np
import pytest

from neuralgram.serving.explorer.charts import Dot, Dots, Kind, Labels, Point
from neuralgram.serving.explorer.vectors import (
    Map,
    by_character,
    kind_of,
    principal_plane,
    procrustes,
    search,
    to_tsv,
)

RNG = np.random.default_rng(5)


def test_procrustes_undoes_a_rotation_and_a_reflection():
    points = RNG.normal(size=(9, 2))
    for matrix in ([[0.6, -0.8], [0.8, 0.6]], [[-1.0, 0.0], [0.0, 1.0]]):
        turned = points @ np.array(matrix)
        assert np.allclose(turned @ procrustes(turned, points), points)


def test_the_map_does_not_flip_between_frames():
    C = RNG.normal(size=(12, 5)) * [3, 2, 1, 1, 1]
    moving, before = Map(), None
    for _ in range(30):
        C = C + 0.02 * RNG.normal(size=C.shape)
        turn = np.linalg.qr(RNG.normal(size=(5, 5)))[0]  # the axes a decomposition finds are as arbitrary as this
        frame = moving.frame(C @ turn, range(12))
        assert before is None or np.abs(frame.xy - before).max() < 0.3
        before = frame.xy
    values = np.linalg.eigvalsh(np.cov(C.T))[::-1]
    plane, share = principal_plane(C - C.mean(axis=0))
    assert share == pytest.approx(values[:2].sum() / values.sum())
    assert np.var(plane, axis=0, ddof=1) == pytest.approx(values[:2])


def test_two_numbers_are_drawn_as_they_are():
    C = RNG.normal(size=(6, 2))
    assert np.allclose(Map().frame(C, range(6)).xy, C - C.mean(axis=0))


def test_names_on_a_map_stand_clear_of_each_other_and_of_the_points():
    rng = np.random.default_rng(2)
    places = rng.uniform(0.3, 0.7, size=(26, 2))
    points = [Point(chr(97 + i), float(x), float(y), 10.0) for i, (x, y) in enumerate(places)]
    chooser = Labels()
    sides = chooser.place(points)

    def covered(sides: list[str]) -> float:
        """Square pixels of names on names and on points, box by box."""
        boxes = []
        for p, side in zip(points, sides, strict=True):
            dx, dy = {"right": (12.5, 0), "left": (-12.5, 0), "top": (0, -16), "bottom": (0, 16)}[side]
            x, y = p.x * 400 + dx, (1 - p.y) * 400 + dy
            boxes.append((x - 3.5, y - 7, x + 3.5, y + 7))
        dots = [(p.x * 400 - 5, (1 - p.y) * 400 - 5, p.x * 400 + 5, (1 - p.y) * 400 + 5) for p in points]
        total = 0.0
        for i, a in enumerate(boxes):
            for b in boxes[:i] + dots[:i] + dots[i + 1 :]:
                total += max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
        return total

    assert covered(sides) < covered(["right"] * 26) / 5
    assert chooser.place(points) == sides  # nothing moves while the points stand still
    two = [Point("left one", 0.5, 0.5, 10), Point("chosen", 0.53, 0.5, 20)]
    assert Labels().place(two) == ["left", "right"]
    small, large = Labels().place([Point("above it", 0.5, 0.5, 10), Point("chosen", 0.5, 0.47, 12)])
    assert large == "right" != small  # the largest chooses first
    assert Labels().place([Point("a long name", 0.99, 0.5, 10)]) == ["left"]  # it would stand outside


def test_what_is_chosen_is_the_largest_point_of_a_map():
    kinds = {
        "word": Kind("#111111", "circle"),
        "chosen": Kind("#222222", "circle", 20),
        "food": Kind("#333333", "rect"),
    }
    drawn = Dots(kinds).draw([Dot("a", "word", 0.5, 0.25), Dot("b", "chosen", -0.5, 0.0)], (-1, 1))
    assert [series["name"] for series in drawn] == ["word", "chosen"]  # no food is there
    assert [series["symbolSize"] for series in drawn] == [10, 20]
    assert [series["data"][0]["value"] for series in drawn] == [[0.5, 0.25], [-0.5, 0.0]]
    assert "borderWidth" in drawn[1]["itemStyle"]


def test_search_looks_through_the_whole_vocabulary():
    symbols = [f"word{i}" for i in range(5_000)] + ["Needle", "needles", "a needle"]
    assert search(symbols, "needle") == [5000, 5001, 5002]
    assert search(symbols, "absent") == []
    assert search(symbols, "") == []
    assert len(search(symbols, "WORD")) == 5_000
    assert search(["KING", "King", "king", "kings", "Kings"], "king") == [2, 0, 1, 3, 4]
    assert search(["KING", "King", "king"], "King") == [1, 0, 2]


def test_vowels_and_consonants_are_told_apart_on_characters_only():
    assert by_character(list("abc e"))
    assert not by_character(["the", "cat", "sat"])
    assert [kind_of(c) for c in ("e", "t", " ")] == ["vowel", "consonant", "other"]


def test_tsv_holds_every_number_and_escapes_symbols():
    C = RNG.normal(size=(3, 2)).astype(np.float32)
    lines = to_tsv(C, ["a", "\t", "\n"].__getitem__).splitlines()
    assert [line.split("\t")[0] for line in lines] == ["a", "\\t", "\\n"]
    assert np.array_equal(np.array([[float(x) for x in line.split("\t")[1:]] for line in lines], np.float32), C)
