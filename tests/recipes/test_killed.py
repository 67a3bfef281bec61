"""kill -9 while a recipe runs: finished rows are used again, a half-trained one goes on, to the same figures."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neuralgram.recipes.run import reproduce

ROWS = ["kn4", "nplm"]
CODE = f"""
from neuralgram.training import run as runs
runs.SAVE_SECONDS = 0.0  # a checkpoint after every update
from neuralgram.recipes.run import reproduce
import sys
from pathlib import Path
reproduce("tales", data=None, out=Path(sys.argv[1]), patterns={ROWS}, quick=True)
"""


def figures(out: Path) -> list[object]:
    found = []
    for name in ROWS:
        found.append(json.loads((out / "rows" / f"{name}.json").read_text())["valid"])
        found.append(json.loads((out / "test" / f"{name}.json").read_text())["nats"])
    return found


@pytest.mark.slow
def test_a_killed_recipe_goes_on(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", CODE, str(killed)], stdout=subprocess.DEVNULL)
    checkpoint = killed / "models" / "nplm" / "run" / "0" / "checkpoint.safetensors"
    while not checkpoint.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert (killed / "rows" / "kn4.json").exists()
    assert not (killed / "rows" / "nplm.json").exists()
    before = (killed / "rows" / "kn4.json").stat().st_mtime_ns
    for out in (killed, whole):
        reproduce("tales", data=None, out=out, patterns=ROWS, quick=True)
    assert figures(killed) == figures(whole)
    assert (killed / "rows" / "kn4.json").stat().st_mtime_ns == before  # not made again
