"""A new estimator is one file and one line: everything that is asked of counting models finds it."""

from __future__ import annotations

import numpy as np
import pytest

import neuralgram as ng
import neuralgram.cli.train  # its options are made before the toy is there, so that no other test meets it
from neuralgram import ngram
from neuralgram.cli import main
from neuralgram.errors import InputError
from neuralgram.families import ESTIMATORS
from neuralgram.text.windows import Corpus

CORPUS = Corpus(np.array([0, 1, 1, 3]), 6, 3)
P = [0.3, 0.3, 0.1 / 3, 0.3, 0.1 / 3, 0.1 / 3]


@pytest.fixture(autouse=True)
def _one_line(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "seen", "tests.ngram.toy:Seen")


def test_it_is_fitted_by_name_and_its_options_are_checked():
    model = ngram.fit("seen", CORPUS, 2)
    np.testing.assert_allclose(np.exp(model.log_probs([[1]]))[0], P)
    assert ngram.takes("seen") == ("share", "memory_limit")
    assert model.called == "seen"
    with pytest.raises(InputError, match=r"share 1\.0: expected a number above 0 and below 1"):
        ngram.check("seen", 2, share=1.0)
    with pytest.raises(InputError, match="seen takes no option k: it takes share, memory_limit"):
        ngram.fit("seen", CORPUS, 2, k=1.0)
    with pytest.raises(InputError, match=r"smoothing 'good-turing': expected one of .*, seen"):
        ngram.check("good-turing", 2)


def test_it_is_counted_from_a_text_kept_and_read_told_of_and_traced(tmp_path, capsys):
    text, out = tmp_path / "text.txt", tmp_path / "model"
    text.write_text("ab\n" * 40)
    train = ["train", "ngram", str(text), "--out", str(out), "--tokenizer", "chars", "--boundary", "line"]
    for command in ([*train, "--smoothing", "seen", "--order", "2", "--json"], ["info", str(out), "--json"]):
        with pytest.raises(SystemExit, match="0"):
            main(command)
        assert '"seen"' in capsys.readouterr().out
    model = ng.load(out)
    p = np.exp(model.model.log_probs([[0]])[0])
    assert p.sum() == pytest.approx(1)
    trace = ng.trace(model, "a")
    np.testing.assert_allclose(trace.step("p").value, p)
    assert trace.sections[0].title == "Seen or not"
    assert "seen" in repr(model)
