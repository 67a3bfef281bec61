"""Verdicts, and the page made of the figures that the scripts left."""

from __future__ import annotations

import dataclasses

import pytest
from benchmarks.__main__ import main
from benchmarks.figures import Figure, missing, read, shown, verdict, write

from benchmarks import page


@pytest.mark.parametrize(
    ("value", "target", "direction", "said"),
    [
        (2.6, 2.4, ">=", "met"),
        (2.4, 2.4, ">=", "met"),
        (1.8, 2.4, ">=", "missed by 25%"),
        (2.39, 2.4, ">=", "missed by 0.42%"),
        (1.45, 1.45, "<=", "met"),
        (1.2, 1.45, "<=", "met"),
        (2.9, 1.45, "<=", "missed by 100%"),
        (1 / 8, 0.1, "<=", "missed by 25%"),
        (-0.3, 1.0, "<=", "met"),
        (3.0, None, ">=", "a peer"),
        (None, 2.4, ">=", "not measured"),
    ],
)
def test_verdicts(value, target, direction, said):
    assert verdict(Figure(1, "step", value, target, direction)) == said


def test_what_was_not_measured_says_why_and_misses_nothing():
    figure = Figure(1, "step", None, 4.5, precision="bf16", note="not measured: no units")
    assert verdict(figure) == "not measured: no units"
    assert missing(figure) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.414, "×", "2.41 ×"),
        (0.0621, "×", "1/16.1"),
        (303.2, "×", "303 ×"),
        (1_614_269.2, "tokens/s", "1 614 269 tokens/s"),
        (16.34, "µs", "16.3 µs"),
        (0.312, "%", "0.312%"),
        (None, "×", "—"),
    ],
)
def test_values_as_people_read_them(value, unit, text):
    assert shown(value, unit) == text


def test_a_figure_outside_the_rows_is_refused():
    with pytest.raises(ValueError, match="expected a row 1 … 8"):
        Figure(9, "step", 1.0)
    with pytest.raises(ValueError, match="direction"):
        Figure(1, "step", 1.0, direction=">")


FIGURES = [
    Figure(1, "peer: step of another", 0.6),
    Figure(1, "step over eager", 2.5, 2.4, threads=1),
    Figure(1, "step over eager", 1.2, 2.4, threads=2),
    Figure(1, "step over eager", None, 4.5, precision="bf16", note="not measured: no units"),
]


def test_figures_survive_the_file(tmp_path):
    write(tmp_path / "step.json", "a machine", FIGURES, more=[1])
    assert read(tmp_path / "step.json") == ("a machine", FIGURES)


def results(folder):
    write(folder / "step.json", "a machine", FIGURES)
    write(folder / "memory.json", "a machine", [Figure(6, "peak of a step", 1.46, 1.3, "<=")])
    (folder / "memory.md").write_text("# Memory\n\nIts table.\n", encoding="utf-8")
    (folder / "step.md").write_text("# A step\n\nIts table.\n", encoding="utf-8")


def test_the_page_has_one_table_a_picture_and_then_each_script(tmp_path):
    results(tmp_path)
    text = page.assemble(tmp_path).read_text(encoding="utf-8")
    lines = text.splitlines()
    cells = [
        "**1. A training step, exact softmax**",
        "step over eager",
        "fp32",
        "≥ 2.4 ×",
        "2.5 ×, met",
        "1.2 ×, missed by 50%",
    ]
    assert f"| {' | '.join(cells)} |" in lines
    assert "|  | step over eager | bf16 | ≥ 4.5 × | not measured: no units |  |" in lines
    assert "|  | peer: step of another | fp32 |  | 0.6 × |  |" in lines
    assert "| **6. Memory** | peak of a step | fp32 | ≤ 1.3 × | 1.46 ×, missed by 12% |  |" in lines
    order = ["# Benchmarks", "a machine", "**1. ", "(ratios.png)", "## A step", "## Memory"]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)
    assert text.count("a machine") == 1
    picture = (tmp_path / "ratios.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 100_000


def test_several_machines_are_named_script_by_script(tmp_path):
    results(tmp_path)
    write(tmp_path / "names.json", "another machine", [dataclasses.replace(FIGURES[0], row=3)])
    text = page.assemble(tmp_path).read_text(encoding="utf-8")
    for line in ("- step: a machine", "- names: another machine", "- memory: a machine"):
        assert line in text.splitlines()


def test_a_page_of_nothing(tmp_path):
    text = page.assemble(tmp_path).read_text(encoding="utf-8")
    assert "Not measured yet: `step`, `loss`," in text
    assert "ratios.png" not in text


def test_page_alone_runs_nothing(tmp_path, capsys):
    results(tmp_path)
    assert main(["page", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "README.md")


def test_a_name_there_is_not(capsys):
    assert main(["stride"]) == 2
    assert "no benchmark 'stride': expected step, loss" in capsys.readouterr().err
