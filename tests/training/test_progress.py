"""What a person sees of a run, on a terminal and elsewhere."""

from __future__ import annotations

import io

import numpy as np
import pytest

from neuralgram import NPLM
from neuralgram.text.windows import Corpus
from neuralgram.training.config import TrainConfig
from neuralgram.training.events import Note, Warned
from neuralgram.training.fit import fit
from neuralgram.training.progress import Display, _clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(stream: io.StringIO, **how: bool) -> str:
    ids = np.arange(200) % 5
    with Display(stream, **how) as show:
        config = TrainConfig(steps=20, batch_size=16, threads=1, eval_every=10, precision="fp32")
        fit(NPLM(5, 2, 4, 4), Corpus(ids, 5), Corpus(ids, 5), config, on_event=show)
        show(Warned(20, "odd [markup] stays as it is"))
    return stream.getvalue()


def test_plain_lines_where_there_is_no_terminal() -> None:
    lines = watched(io.StringIO()).splitlines()
    assert lines[0] == "threads 1: as asked"
    assert lines[1] == "20 steps as asked"
    assert lines[2] == "121 parameters; 20 steps of 16 windows, 12 an epoch; 1 threads, fp32"
    assert "running loss" in lines[3]
    assert "tokens/s" in lines[3]
    assert lines[4].startswith("step 10: validation perplexity ")
    assert lines[-2].startswith("all steps made (20 in 0:00, ")
    assert "; kept step 20, validation perplexity " in lines[-2]
    assert lines[-1] == "warning: odd [markup] stays as it is"


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    text = watched(Terminal())
    assert "20/20" in text
    assert "tokens/s" in text
    assert "valid ppl" in text
    assert "odd [markup] stays as it is" in text


def test_quiet_leaves_warnings() -> None:
    assert watched(io.StringIO(), quiet=True) == "warning: odd [markup] stays as it is\n"
    stream = io.StringIO()
    Display(stream)(Note(0, "[bold]"))
    assert stream.getvalue() == "[bold]\n"


def test_clock() -> None:
    assert [_clock(s) for s in (0.4, 59.6, 61, 3599, 3600, 36_061)] == [
        "0:00", "1:00", "1:01", "59:59", "1:00:00", "10:01:01",
    ]  # fmt: skip
