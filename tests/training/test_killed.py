"""kill -9 at random moments, and the weights are those of a run that was left alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from neuralgram.training.events import read_lines

SCRIPT = """
import hashlib, os, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from neuralgram import NPLM, PCG32
from neuralgram.text.windows import Corpus
from neuralgram.training import run
from neuralgram.training.config import TrainConfig
from neuralgram.training.fit import fit

run.SAVE_SECONDS = 0.01
ids = PCG32(1).uint32s(3000) % 50
config = TrainConfig(steps=200, batch_size=64, average="ema", weight_decay=0.1, clip=1.0, threads=1, eval_every=50)

def train(folder):
    model = NPLM(50, 4, 8, 32, dropout=0.3, rng=PCG32(2))
    fit(model, Corpus(ids, 50), Corpus(ids[:500], 50), config, folder=folder, resume=True)
    return hashlib.sha256(b"".join(array.tobytes() for array in model.state().values())).hexdigest()

for line in sys.stdin:  # each line names a folder; the child is the process that gets killed
    child = os.fork()
    if child == 0:
        (folder := Path(line.strip())).mkdir(exist_ok=True)
        (folder / "hash").write_text(train(folder))
        assert "torch._dynamo" not in sys.modules  # importing it takes longer than such a run
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    chance = random.Random(6)
    with parent:
        assert run(parent, tmp_path / "alone", None) == 0
        for step in (1, 60, 110, 150, 190):  # and as much later as chance has it
            moment = step, chance.uniform(0, 0.03)
            assert run(parent, tmp_path / "killed", moment) in {0, signal.SIGKILL}
        assert run(parent, tmp_path / "killed", None) == 0
        assert parent.stdin
        parent.stdin.close()
    assert (tmp_path / "killed" / "hash").read_text() == (tmp_path / "alone" / "hash").read_text()


def run(parent: subprocess.Popen[str], folder: Path, moment: tuple[int, float] | None) -> int:
    """Train in `folder`, killed at a `moment` (a step, and seconds after it was logged); how the process ended."""
    assert parent.stdin
    assert parent.stdout
    parent.stdin.write(f"{folder}\n")
    parent.stdin.flush()
    child = int(parent.stdout.readline())
    if moment is not None:
        step, seconds = moment
        while not logged(folder, step):
            time.sleep(0.002)
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return int(parent.stdout.readline())


def logged(folder: Path, step: int) -> bool:
    return any(line["event"] == "progress" and line["step"] >= step for line in read_lines(folder / "log.jsonl"))
