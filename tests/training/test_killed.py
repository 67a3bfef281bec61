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

SCRIPT = """
import hashlib, os, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from neuralgram import NPLM, PCG32
from neuralgram.text.windows import Corpus
from neuralgram.training import driver
from neuralgram.training.config import TrainConfig
from neuralgram.training.run import fit

driver.SAVE_SECONDS = 0.01
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
    with parent:
        assert parent.stdin
        assert parent.stdout

        def run(folder: Path, seconds: float | None) -> bool:
            """Whether the run came to its end; killed after `seconds`."""
            parent.stdin.write(f"{folder}\n")  # type: ignore[union-attr]
            parent.stdin.flush()  # type: ignore[union-attr]
            child = int(parent.stdout.readline())  # type: ignore[union-attr]
            if seconds is not None:
                time.sleep(seconds)
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            return int(parent.stdout.readline()) == 0  # type: ignore[union-attr]

        begun = time.perf_counter()
        assert run(tmp_path / "alone", None)
        whole = time.perf_counter() - begun
        chance = random.Random(6)
        kills = 0
        for _ in range(6):
            if run(tmp_path / "killed", chance.uniform(0.02, 0.4) * whole):
                break
            kills += 1
        else:
            assert run(tmp_path / "killed", None)
        parent.stdin.close()
    assert kills >= 1
    assert (tmp_path / "killed" / "hash").read_text() == (tmp_path / "alone" / "hash").read_text()
