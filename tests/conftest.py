"""Shared fixtures: where the real corpora are, and one thread for every test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

# Set before anything imports PyTorch, and handed on to every process that a test starts: two workers whose libraries
# each take all the cores wait for one another, and a suite of two minutes lasts eight.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A drawn case may wait for a core as long as it must.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.load_profile("here")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data() -> Callable[[str], Path]:
    """`data(name)`: a file of the test data (`NEURALGRAM_DATA`, else `../shared/data`), or a skip that says why."""

    def find(name: str) -> Path:
        folder = Path(os.environ.get("NEURALGRAM_DATA") or ROOT.parent / "shared" / "data")
        path = folder / name
        if not path.exists():
            pytest.skip(f"{name} is not in {folder} (set NEURALGRAM_DATA to the folder that has it)")
        return path

    return find
