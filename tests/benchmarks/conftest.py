"""A setting for measuring in this process: tiny sizes, one thread, the processor."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest
import torch
from benchmarks.harness import Setting


@pytest.fixture
def quick() -> Callable[..., Setting]:
    def setting(*, threads: int = 1, bf16: bool = False, **options: object) -> Setting:
        return Setting(threads, torch.device("cpu"), 1, True, bf16, argparse.Namespace(**options))

    return setting
