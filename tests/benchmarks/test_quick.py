"""Every script measures something, at tiny sizes; one is run as a user runs it."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.figures import read
from benchmarks.texts import chain

from benchmarks import brown_heads, counting, full_scores, precision
from neuralgram.errors import NeuralgramError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("script", "bf16", "expected"),
    [
        ("step", True, {(1, "fp32"), (1, "bf16")}),
        ("loss", True, {(1, "fp32"), (1, "bf16"), (2, "fp32"), (2, "bf16")}),
        ("precision", True, {(1, "bf16")}),
        ("heads", False, {(4, "fp32")}),
        ("scoring", False, {(5, "fp32"), (5, "bf16")}),
    ],
)
def test_scripts_measure_what_has_a_target(script, bf16, expected, quick):
    sheet = importlib.import_module(f"benchmarks.{script}").measure(quick(bf16=bf16))
    targets = {(figure.row, figure.precision) for figure in sheet.figures if figure.target is not None}
    assert targets == expected
    assert all(figure.value is None or figure.value > 0 or figure.unit == "%" for figure in sheet.figures)
    assert any(line.startswith("|---") for line in sheet.lines)


@pytest.mark.parametrize("script", ["step", "loss"])
def test_without_units_bfloat16_is_not_measured_and_says_so_once(script, quick):
    module = importlib.import_module(f"benchmarks.{script}")
    absent = [f for f in module.measure(quick()).figures if f.precision == "bf16"]
    assert {f.note for f in absent} == {"not measured: this processor has no bf16 units"}
    assert not [f for f in module.measure(quick(threads=2)).figures if f.precision == "bf16"]


def test_precision_says_why_it_is_absent(quick):
    (figure,) = precision.measure(quick()).figures
    assert (figure.value, figure.target) == (None, 1.0)
    assert figure.note == "not measured: this processor has no bf16 units"


@pytest.mark.filterwarnings("ignore:order")  # discounts of a tiny text
def test_counting_models_score_as_kenlm_does(quick, capfd):
    pytest.importorskip("kenlm", reason="the kenlm module is not installed")
    sheet = full_scores.measure(quick())
    rows = [line.split("|") for line in sheet.lines if "score`" in line or "scores`" in line]
    assert rows[0][3] == rows[1][3]  # one perplexity
    assert sheet.figures[0].value > 0


def test_scores_that_differ_are_refused():
    with pytest.raises(NeuralgramError, match=r"differ by up to 0\.5 nats"):
        full_scores.check(np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    with pytest.raises(NeuralgramError, match="in number"):
        full_scores.check(np.zeros(2), np.zeros(3))


@pytest.mark.filterwarnings("ignore:order")
def test_counting_with_a_limit_makes_the_same_model():
    corpus = chain(500, 24_000)
    free, limited = counting.estimate(corpus, None), counting.estimate(corpus, 1 << 20)
    assert free.ngrams == limited.ngrams > 24_000
    assert free.tokens == 24_000


def trained(head, curve, seconds):
    return brown_heads.Trained(head, "", 1.0, seconds, 100, curve[-1][1], curve, None)


def test_time_to_within_three_percent_of_exact_training():
    heads = {
        "softmax": trained("softmax", [(50.0, 400.0), (100.0, 300.0)], 100.0),
        "sampled": trained("sampled", [(5.0, 310.0), (10.0, 309.0), (20.0, 290.0)], 20.0),
        "nce": trained("nce", [(5.0, 350.0), (10.0, 320.0)], 10.0),
    }
    sampled, nce = brown_heads.figures(heads)
    assert (sampled.value, sampled.target, sampled.direction) == (0.1, 1.0, "<=")  # 309 is 1.03 × 300
    assert nce.value is None
    assert nce.note == "missed: its best is 320.0, exact training ends at 300.0"
    assert brown_heads.figures({"nce": heads["nce"]}) == []


def test_a_head_is_trained_and_its_result_kept(quick, tmp_path):
    found = brown_heads.train(quick(), "nce", *brown_heads.text(quick()))
    assert len(found.curve) == 4
    assert found.log_z is not None
    brown_heads.publish(tmp_path, "a machine", {"nce": found})
    assert brown_heads.kept(tmp_path / "brown_heads.json") == {"nce": found}
    assert read(tmp_path / "brown_heads.json")[0] == "a machine"
    assert "| nce | optimizer adamw" in (tmp_path / "brown_heads.md").read_text(encoding="utf-8")
    assert 0 < (tmp_path / "brown_heads.png").stat().st_size < 100_000


def test_the_command_leaves_a_page_and_data(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(ROOT)
    assert main(["loss", "--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    _, figures = read(tmp_path / "loss.json")
    assert (figures[0].row, figures[0].target, figures[0].threads) == (1, 2.6, 1)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "A quick run" in text
    assert "## The loss with its gradients" in text
