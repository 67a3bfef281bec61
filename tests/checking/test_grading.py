"""Grading tests by the faults they notice; every fault's edit fits this package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import neuralgram
from neuralgram import InputError, pitfalls
from neuralgram.checking import grading
from neuralgram.pitfalls import PITFALLS, REQUIRED

TESTS = """
import numpy as np
from my_nplm import NPLM, PCG32, train_nplm, windows
from tinyllm.lm.nplm import load_nplm
from tinyllm.num.rng import PCG32 as Again

def test_windows():
    assert windows([5, 6, 7, 8], 2)[1].tolist() == [7, 8]

def test_perplexity():
    model = NPLM(5, 2, 3, 4, rng=PCG32(1))
    ids = [0, 1, 2, 3, 4, 0, 2]
    assert abs(model.perplexity(ids) - np.exp(model.nll(ids).mean())) < 1e-9

def test_table_learns():
    model = NPLM(5, 2, 3, 4, rng=Again(1))
    before = model.state()["emb.weight"].copy()
    train_nplm(model, [0, 1, 2, 3, 4, 0, 2], 3, 5, 0.5, PCG32(2))
    assert not np.allclose(before, model.state()["emb.weight"])
"""


@pytest.mark.parametrize("name", PITFALLS)
def test_every_edit_fits(name: str, tmp_path: Path) -> None:
    package = Path(neuralgram.__file__).parent
    for module in {edit.module for edit in PITFALLS[name].edits}:
        (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(package / module, tmp_path / module)
    pitfalls.apply(PITFALLS[name], tmp_path)
    for module in {edit.module for edit in PITFALLS[name].edits}:
        source = (tmp_path / module).read_text(encoding="utf-8")
        assert source != (package / module).read_text(encoding="utf-8")
        compile(source, module, "exec")


def test_an_edit_that_no_longer_fits_says_so(tmp_path: Path) -> None:
    (tmp_path / "lm.py").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"stands 0 times in lm\.py"):
        pitfalls.apply(PITFALLS["perplexity-in-nats"], tmp_path)


def test_the_share_and_the_required_fault() -> None:
    grade = grading.Grade(("a", REQUIRED, "c"), ("d",), ())
    assert grade.share == 0.75
    assert grade.passes
    assert not grading.Grade(("a", "b", "c"), (REQUIRED,), ()).passes
    assert not grading.Grade((REQUIRED,), ("perplexity-in-nats",), ()).passes
    assert grading.Grade((), ("perplexity-in-nats",), ()).to_json()["survived"][0]["symptom"]


@pytest.mark.slow
def test_tests_are_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ("table-outside-graph", "ties-highest")
    monkeypatch.setattr(grading, "PITFALLS", {name: PITFALLS[name] for name in kept})
    (tmp_path / "test_mine.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "my_nplm.py").write_text(
        "raise RuntimeError('the student module is not what is tested')", encoding="utf-8"
    )
    told: list[str] = []
    grade = grading.grade_tests(tmp_path, "my_nplm", tell=told.append)
    assert grade.killed == ("table-outside-graph",)
    assert grade.survived == ("ties-highest",)
    assert grade.share == 0.5
    assert len(told) == 2


@pytest.mark.slow
def test_tests_that_fail_on_a_correct_model_are_not_graded(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("def test_wrong():\n    assert 1 + 1 == 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="fail on a correct model"):
        grading.grade_tests(tmp_path, "my_nplm")


def test_no_tests_and_no_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tests"):
        grading.grade_tests(tmp_path, "my_nplm")
    (tmp_path / "test_a.py").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="Python can import"):
        grading.grade_tests(tmp_path, "my-nplm")
