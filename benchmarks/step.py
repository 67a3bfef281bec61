"""Training tokens per second: this package, PyTorch and plain NumPy on the same model.

    python -m benchmarks.step [--rounds 9] [--threads 1 2]

The model is the paper's (V 16 384, n − 1 = 4, m 30, h 100, no direct path), the step whole: forward, backward
and AdamW.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks import peers
from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, parser, run, table
from neuralgram import NPLM, Corpus
from neuralgram.numbers import spaced
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

V, C, M, H = 16_384, 4, 30, 100
BATCHES = 256, 1024  # the second is what the targets are for
LR, DECAY, BETAS, EPS = 1e-3, 1e-2, (0.9, 0.999), 1e-8
TARGETS = {"fp32": 2.4, "bf16": 4.5}
ABOUT = (
    f"V {spaced(V)}, context {C}, m {M}, h {H}, no direct path, AdamW; a step is forward, backward and update. "
    f"`F.linear_cross_entropy` is given PyTorch's fused AdamW, eager PyTorch its default one."
)
Parameters = dict[str, NDArray[np.float32]]
Windows = tuple[NDArray[np.int64], NDArray[np.int64]]


def ours(setting: Setting, ids: NDArray[np.int64], vocab_size: int, batch: int, precision: str) -> Trainer:
    """Whose `update` is the step."""
    config = TrainConfig(
        steps=10**9, batch_size=batch, optimizer="adamw", schedule="constant", lr=LR, betas=BETAS, weight_decay=DECAY
    )
    model = NPLM(vocab_size, C, M, H, direct=False)
    model.set_precision(precision)
    return Trainer(model.to(setting.device), Corpus(ids, vocab_size).windows(C), config, 10**9)


class Plain(nn.Module):
    """The model as one writes it; the loss of the output layer is what peers differ in."""

    def __init__(self, vocab_size: int, loss: peers.Loss) -> None:
        super().__init__()
        self.emb, self.hidden = nn.Embedding(vocab_size, M), nn.Linear(C * M, H)
        self.out = nn.Linear(H, vocab_size)
        self.loss = loss

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        a = torch.tanh(self.hidden(self.emb(x).flatten(1)))
        return self.loss(a, self.out.weight, self.out.bias, y)


def peer(model: Plain, windows: Windows, *, fused: bool) -> Callable[[], float]:
    """A step of PyTorch's."""
    x, y = (torch.from_numpy(ids).to(model.out.weight.device) for ids in windows)
    options = {"fused": True} if fused else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=BETAS, weight_decay=DECAY, **options)

    def step() -> float:
        optimizer.zero_grad()
        loss: Tensor = model(x, y)
        torch.autograd.backward(loss)
        optimizer.step()
        return loss.item()

    return step


def numpy_parameters(vocab_size: int) -> Parameters:
    """Embedding, hidden and output layer, float32."""
    rng = np.random.default_rng(0)
    shapes = {"E": (vocab_size, M), "W1": (C * M, H), "b1": (H,), "W2": (H, vocab_size), "b2": (vocab_size,)}
    return {name: (rng.normal(size=shape) * 0.05).astype(np.float32) for name, shape in shapes.items()}


def plain_numpy(windows: Windows, P: Parameters) -> Callable[[], float]:
    """The same by hand; a step replaces the arrays of `P`."""
    contexts, targets = windows
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


def contenders(setting: Setting, batch: int, vocab_size: int) -> dict[str, Callable[[], object]]:
    """Every step there is, by name."""
    ids = np.random.default_rng(1).integers(0, vocab_size, 40_000)
    view = np.lib.stride_tricks.sliding_window_view(ids[: batch + C], C + 1)
    windows = view[:, :-1].copy(), view[:, -1].copy()
    steps: dict[str, Callable[[], object]] = {
        f"neuralgram, {p}": ours(setting, ids, vocab_size, batch, p).update for p in setting.precisions
    }
    steps[peers.EAGER] = peer(Plain(vocab_size, peers.eager).to(setting.device), windows, fused=False)
    for precision in setting.precisions:
        for name, loss in peers.chunked_losses(precision).items():
            steps[name] = peer(Plain(vocab_size, loss).to(setting.device), windows, fused=True)
    if setting.device.type == "cpu":
        steps["NumPy"] = plain_numpy(windows, numpy_parameters(vocab_size))
    return steps


def measure(setting: Setting) -> Sheet:
    """Tokens per second of each, by batch."""
    batches, vocab_size = ((16, 32), 512) if setting.quick else (BATCHES, V)
    speeds: list[dict[str, float]] = []
    for batch in batches:
        seconds = setting.in_turn(contenders(setting, batch, vocab_size))
        speeds.append({name: batch / taken for name, taken in seconds.items()})
    rows = [
        [name, *(spaced(s[name]) for s in speeds), *(f"{s[name] / s[peers.EAGER]:.2f}" for s in speeds)]
        for name in speeds[0]
    ]
    headers = ["", *(f"{unit}, batch {spaced(b)}" for unit in ("tokens/s", "× eager") for b in batches)]
    return Sheet(table(headers, rows), figures(setting, speeds[-1]))


def figures(setting: Setting, speed: dict[str, float]) -> list[Figure]:
    """Ours over eager with its targets, then the peers over eager."""
    gain = {name: tokens / speed[peers.EAGER] for name, tokens in speed.items() if name != peers.EAGER}
    found = []
    for precision, target in TARGETS.items():
        value = gain.pop(f"neuralgram, {precision}", None)
        found += setting.held(1, "step over eager PyTorch", value, target, precision=precision)
    for name, value in gain.items():
        what = f"peer: step, {name.removesuffix(', bf16')}, over eager PyTorch"
        precision = "bf16" if name.endswith("bf16") else "fp32"
        found += setting.held(1, what, value, None, precision=precision)
    return found


if __name__ == "__main__":
    run(__file__, "A training step", ABOUT, measure, options=parser(__doc__), counts=(1, 2))
