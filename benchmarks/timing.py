"""What the benchmarks share: taking turns, and saying on what machine."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch


def in_turn(
    steps: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Median seconds of each step. They take turns, so that all meet the same machine.

    The clock counts the seconds this process computes: with one thread those of a quiet machine, whoever else is on it.
    """
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 1):
        for name, step in steps.items():
            start = clock()
            step()
            if turn:  # the first pays for allocation
                taken[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def machine() -> str:
    """One sentence about where the figures come from."""
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}, "
        f"{torch.get_num_threads()} thread, PyTorch {torch.__version__}, NumPy {np.__version__}."
    )


def table(headers: list[str], rows: list[list[object]]) -> list[str]:
    """A Markdown table."""
    lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
    return [*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]


def publish(script: str, lines: list[str]) -> None:
    """Print `lines` and keep them beside the script."""
    text = "\n".join(lines).rstrip() + "\n"
    Path(script).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


def zipf(vocab_size: int, count: int, seed: int = 0) -> np.ndarray:
    """`count` ids with P(id) ∝ 1/(id + 1), int32."""
    edges = np.cumsum(1 / np.arange(1.0, vocab_size + 1))
    draws = np.random.default_rng(seed).random(count) * edges[-1]
    return np.searchsorted(edges, draws).clip(max=vocab_size - 1).astype(np.int32)
