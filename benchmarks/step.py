"""Training tokens per second: this package, plain NumPy and plain eager PyTorch on the same model in one run.

    python -m benchmarks.step [--rounds 9] [--out benchmarks/step.md]

The model is the paper's (V 16 383, n − 1 = 4, m 30, h 100, no direct path), the step whole: forward, backward
and AdamW. The three take turns, so that all meet the same machine; medians are compared.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from neuralgram import NPLM, Corpus
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

V, C, M, H = 16_383, 4, 30, 100
_PAUSE = 0.2  # seconds: the other library's threads go on spinning for a while after their work is done
LR, DECAY, BETAS, EPS = 1e-3, 1e-2, (0.9, 0.999), 1e-8


def ours(ids: np.ndarray, batch: int) -> Callable[[], object]:
    config = TrainConfig(
        steps=10**9, batch_size=batch, optimizer="adamw", schedule="constant", lr=LR, weight_decay=DECAY, clip=None
    )
    trainer = Trainer(NPLM(V, C, M, H, direct=False), Corpus(ids, V).windows(C), config, 10**9)
    return trainer.update


def eager(contexts: np.ndarray, targets: np.ndarray) -> Callable[[], object]:
    """What one writes without thinking of speed."""

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.emb, self.hidden, self.out = nn.Embedding(V, M), nn.Linear(C * M, H), nn.Linear(H, V)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(torch.tanh(self.hidden(self.emb(x).flatten(1))))

    model, x, y = Plain(), torch.from_numpy(contexts), torch.from_numpy(targets)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=BETAS, weight_decay=DECAY)

    def step() -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def plain_numpy(contexts: np.ndarray, targets: np.ndarray) -> Callable[[], object]:
    """The same by hand, in float32."""
    rng = np.random.default_rng(0)
    shapes = {"E": (V, M), "W1": (C * M, H), "b1": (H,), "W2": (H, V), "b2": (V,)}
    P = {name: (rng.normal(size=shape) * 0.05).astype(np.float32) for name, shape in shapes.items()}
    first, second = ({name: np.zeros_like(p) for name, p in P.items()} for _ in range(2))
    rows, steps = np.arange(len(targets)), [0]

    def step() -> float:
        x = P["E"][contexts].reshape(len(rows), -1)
        a = np.tanh(P["b1"] + x @ P["W1"])
        p = a @ P["W2"] + P["b2"]
        p = np.exp(p - p.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        loss = -np.log(p[rows, targets]).mean()
        p[rows, targets] -= 1
        p /= len(rows)
        delta = (p @ P["W2"].T) * (1 - a * a)
        g = {"W2": a.T @ p, "b2": p.sum(0), "W1": x.T @ delta, "b1": delta.sum(0), "E": np.zeros_like(P["E"])}
        np.add.at(g["E"], contexts, (delta @ P["W1"].T).reshape(len(rows), C, M))
        steps[0] += 1
        for name, value in list(P.items()):
            first[name] = BETAS[0] * first[name] + (1 - BETAS[0]) * g[name]
            second[name] = BETAS[1] * second[name] + (1 - BETAS[1]) * g[name] ** 2
            mean, variance = first[name] / (1 - BETAS[0] ** steps[0]), second[name] / (1 - BETAS[1] ** steps[0])
            P[name] = value - LR * (mean / (np.sqrt(variance) + EPS) + DECAY * value)
        return float(loss)

    return step


def measure(batch: int, rounds: int) -> dict[str, float]:
    """Median seconds of a step of each, taking turns."""
    ids = np.random.default_rng(1).integers(0, V, 40_000)
    view = np.lib.stride_tricks.sliding_window_view(ids[: batch + C], C + 1)
    contexts, targets = view[:, :-1].copy(), view[:, -1].copy()
    steps = {"neuralgram": ours(ids, batch), "eager": eager(contexts, targets), "NumPy": plain_numpy(contexts, targets)}
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 1):
        for name, step in steps.items():
            time.sleep(_PAUSE)
            start = time.perf_counter()
            step()
            if turn:  # the first pays for allocation
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def row(batch: int, threads: int, rounds: int) -> str:
    """One row of the table."""
    s = measure(batch, rounds)
    speed = {name: batch / seconds for name, seconds in s.items()}
    return (
        f"| {batch} | {threads} | {speed['neuralgram']:,.0f} | {speed['eager']:,.0f} | {speed['NumPy']:,.0f} "
        f"| {s['eager'] / s['neuralgram']:.2f} | {s['NumPy'] / s['neuralgram']:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Training tokens per second against NumPy and eager PyTorch.")
    parser.add_argument("--rounds", type=int, default=9, help="steps of each that count")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)  # in the child: this many threads, on stdout
    args = parser.parse_args()
    if args.rows:
        torch.set_num_threads(args.rows)
        print("\n".join(row(batch, args.rows, args.rounds) for batch in (256, 1024)))
        return
    lines = [
        "# A training step",
        "",
        f"V {V:,}, context {C}, m {M}, h {H}, no direct path, AdamW, fp32; tokens per second, medians of {args.rounds} "
        f"steps taken in turn in one process. {platform.machine()}, {os.cpu_count()} cores, "
        f"{torch.backends.cpu.get_cpu_capability()}, PyTorch {torch.__version__}, NumPy {np.__version__}.",
        "",
        "| batch | threads | neuralgram | eager PyTorch | NumPy | × eager | × NumPy |",
        "|---|---|---|---|---|---|---|",
    ]
    for threads in args.threads:
        # NumPy's library reads its number of threads when it is loaded: a process for each number.
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        command = [sys.executable, "-m", "benchmarks.step", "--rows", str(threads), "--rounds", str(args.rounds)]
        lines += subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(args.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
