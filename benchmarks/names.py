"""Names: time to the exact test loss that the usual loop has after 10 000 steps of 32 names.

    python -m benchmarks.names [--data names.txt] [--steps 10000]

The usual loop is a DataLoader over padded names, an eager network of makemore's sizes (V 27, context 16, m 64, h 64:
69 147 parameters), cross entropy that skips the padding, and AdamW at makemore's settings. Ours is `train nplm` on line
boundaries with at most 70 000 parameters. Both train on the same names, one after the other on one thread, and are
scored exactly on the same 1 000 others: nats per character, ends of names among them.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.timing import in_turn, machine, publish, table
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import neuralgram as ng
from neuralgram.rng import generator
from neuralgram.text.corpora import build_corpora
from neuralgram.training.auto import TextFacts, plan
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer
from neuralgram.training.run import fit

C, M, H, BATCH = 16, 64, 64, 32
USUAL = {"lr": 5e-4, "weight_decay": 0.01, "betas": (0.9, 0.99), "eps": 1e-8}


class Usual(nn.Module):
    """makemore's MLP: every position of a padded name, its window of 16, a blank where nothing stands."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.table = nn.Embedding(symbols + 1, M)
        self.net = nn.Sequential(nn.Linear(C * M, H), nn.Tanh(), nn.Linear(H, symbols))
        self.blank = symbols

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = []
        for _ in range(C):
            seen.append(self.table(x))
            x = torch.roll(x, 1, 1)
            x[:, 0] = self.blank
        return self.net(torch.cat(seen, -1))


def padded(names: list[list[int]]) -> TensorDataset:
    """Each name after a start symbol, its targets with an end, −1 where there is nothing to predict."""
    longest = max(map(len, names))
    x, y = torch.zeros(len(names), longest + 1, dtype=torch.long), torch.full((len(names), longest + 1), -1)
    for row, name in enumerate(names):
        letters = torch.tensor(name) + 1  # 0 is start and end
        x[row, 1 : 1 + len(name)] = letters
        y[row, : len(name)] = letters
        y[row, len(name)] = 0
    return TensorDataset(x, y)


class UsualLoop:
    """The loop one writes: reshuffled batches for ever, one step at a time."""

    def __init__(self, names: list[list[int]], symbols: int) -> None:
        torch.manual_seed(0)
        self.model = Usual(symbols)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=5e-4, weight_decay=0.01, betas=(0.9, 0.99), eps=1e-8
        )
        self.loader = DataLoader(padded(names), batch_size=BATCH, shuffle=True)
        self.batches = iter(self.loader)

    def step(self) -> float:
        try:
            x, y = next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            x, y = next(self.batches)
        logits = self.model(x)
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1), ignore_index=-1)
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def nats(self, names: list[list[int]]) -> float:
        x, y = padded(names).tensors
        logits = self.model(x)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).double(), y.view(-1), ignore_index=-1).item()


def units(corpus: ng.Corpus) -> list[list[int]]:
    ids = np.asarray(corpus.ids)
    return [unit[:-1].tolist() for unit in np.split(ids, np.flatnonzero(ids == corpus.boundary) + 1)[:-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time to the usual loop's loss on names.")
    default = Path(os.environ.get("NEURALGRAM_DATA", "../shared/data")) / "names.txt"
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--steps", type=int, default=10_000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    corpora = build_corpora([args.data], tokenizer="chars", boundary="line", split="rest,0,1000", seed=0)
    train, test = corpora.part("train"), corpora.part("test")
    usual = UsualLoop(units(train), corpora.vocab_size)
    # Steps of 32 names: the same network over the windows of 32 names, about 227 of them, without padding.
    same = ng.NPLM(corpora.vocab_size, C, M, H, direct=False)
    windows = round(BATCH * len(train) / len(units(train)))
    stepper = Trainer(same, train.windows(C), TrainConfig(steps=10**9, batch_size=windows, lr=5e-4, clip=None), 10**9)
    speed = in_turn({"usual": usual.step, "ours": stepper.update}, rounds=200)

    usual = UsualLoop(units(train), corpora.vocab_size)
    started = time.process_time()
    for _ in range(args.steps):
        usual.step()
    usual_seconds = time.process_time() - started
    usual_nats = usual.nats(units(test))

    facts = TextFacts(len(train), corpora.vocab_size, True, "line", len(units(train)), validated=False)
    chosen = plan(facts, {"threads": 1})  # what `train nplm names.txt --boundary line` does by itself
    started = time.process_time()
    model = ng.NPLM(corpora.vocab_size, **chosen.model, rng=generator(0, "init"))
    result = fit(model, train, None, replace(chosen.training, eval_every=10**9))
    our_seconds = time.process_time() - started
    our_nats = float(model.score(test.windows(model.context)).mean())
    rows = [
        (name, sum(p.numel() for p in m.parameters()), steps, f"{seconds:.1f}", f"{nats:.4f}", f"{np.exp(nats):.3f}")
        for name, m, steps, seconds, nats in (
            ("the usual loop", usual.model, args.steps, usual_seconds, usual_nats),
            ("neuralgram", model, result.steps, our_seconds, our_nats),
        )
    ]
    lines = [
        "# Names",
        "",
        f"`python -m benchmarks.names`: {machine()}",
        f"{len(units(train))} names train, {len(units(test))} test; seconds are processor seconds of one thread.",
        "",
        *table(["", "parameters", "steps", "seconds", "exact test loss, nats", "perplexity"], rows),
        f"Our time over the usual loop's: 1/{usual_seconds / our_seconds:.1f}. "
        f"A step of {BATCH} names ({windows} windows), same sizes: {speed['usual'] / speed['ours']:.1f} × as fast "
        f"({1 / speed['ours']:.0f} against {1 / speed['usual']:.0f} steps a second).",
    ]
    publish(__file__, lines)


if __name__ == "__main__":
    main()
