"""Names: time to the exact test loss that the usual loop has after 10 000 steps of 32 names.

    python -m benchmarks.names [--data names.txt] [--steps 10000]

The usual loop is a DataLoader over padded names, an eager network of makemore's sizes (V 27, context 16, m 64, h 64:
69 147 parameters), cross entropy that skips the padding, and AdamW at makemore's settings. Ours is `train nplm` on line
boundaries with at most as many parameters. Both train on the same names, one after the other on one thread, and are
scored exactly on the 1 000 others that makemore's seed leaves out: nats per character, ends of names among them.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, parser, run, table
from benchmarks.texts import data_file
from neuralgram import NPLM, Corpus
from neuralgram.rng import generator
from neuralgram.text.corpora import Corpora, build_corpora
from neuralgram.text.samples import tale_text
from neuralgram.text.sources import Document
from neuralgram.training.config import TrainConfig
from neuralgram.training.fit import fit
from neuralgram.training.jobs.plan import TextFacts, plan
from neuralgram.training.loop import Trainer

C, M, H, BATCH = 16, 64, 64, 32
SPLIT_SEED, HELD_OUT = 3407, 1000  # makemore's
ABOUT = (
    "The usual loop: DataLoader, padding, eager PyTorch, AdamW, 32 names a step, at makemore's sizes, settings and "
    "split. Seconds are processor seconds."
)


class Usual(nn.Module):
    """makemore's MLP: every position of a padded name, its window of 16, a blank where nothing stands."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.table = nn.Embedding(symbols + 1, M)
        self.net = nn.Sequential(nn.Linear(C * M, H), nn.Tanh(), nn.Linear(H, symbols))
        self.blank = symbols

    def forward(self, x: Tensor) -> Tensor:
        seen = []
        for _ in range(C):
            seen.append(self.table(x))
            x = torch.roll(x, 1, 1)
            x[:, 0] = self.blank
        logits: Tensor = self.net(torch.cat(seen, -1))
        return logits


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
        """One update; its loss."""
        try:
            x, y = next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            x, y = next(self.batches)
        logits = self.model(x)
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1), ignore_index=-1)
        self.model.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def nats(self, names: list[list[int]]) -> float:
        """Exact mean loss a character."""
        x, y = padded(names).tensors
        logits = self.model(x)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).double(), y.view(-1), ignore_index=-1).item()


class Result(NamedTuple):
    """A trained model: parameters, steps, processor seconds, exact test loss."""

    parameters: int
    steps: int
    seconds: float
    nats: float

    def row(self, name: str) -> list[object]:
        """Its row of the table."""
        return [
            name,
            self.parameters,
            self.steps,
            f"{self.seconds:.1f}",
            f"{self.nats:.4f}",
            f"{np.exp(self.nats):.3f}",
        ]


def split_names(path: Path | None) -> Corpora:
    """The names of `path`, or words of the embedded tales, with 1 000 (a tenth at most) held out as makemore does."""
    text = tale_text(3000).replace(" ", "\n") if path is None else path.read_text(encoding="utf-8")
    names = [name.strip() for name in text.splitlines() if name.strip()]
    held = min(HELD_OUT, len(names) // 10)
    order = torch.randperm(len(names), generator=torch.Generator().manual_seed(SPLIT_SEED)).tolist()
    train, test = (
        Document(part, ["\n".join(names[i] for i in chosen) + "\n"])
        for part, chosen in (("train", order[:-held]), ("test", order[-held:]))
    )
    return build_corpora([train], test=[test], tokenizer="chars", boundary="line")


def units(corpus: Corpus) -> list[list[int]]:
    """The names as lists of ids."""
    ids = np.asarray(corpus.ids)
    return [unit[:-1].tolist() for unit in np.split(ids, np.flatnonzero(ids == corpus.boundary) + 1)[:-1]]


def usual(corpora: Corpora, steps: int) -> Result:
    """The usual loop's result."""
    loop = UsualLoop(units(corpora.train), corpora.vocab_size)
    started = time.process_time()
    for _ in range(steps):
        loop.step()
    seconds = time.process_time() - started
    return Result(_parameters(loop.model), steps, seconds, loop.nats(units(corpora.part("test"))))


def ours(corpora: Corpora, quick: bool) -> Result:
    """What `train nplm names.txt --boundary line` chooses and ends with; a `quick` run makes 20 steps of it."""
    train, test = corpora.train, corpora.part("test")
    facts = TextFacts(len(train), corpora.vocab_size, True, "line", len(units(train)), validated=False)
    chosen = plan(facts, {"threads": 1, "steps": 20 if quick else None})
    started = time.process_time()
    model = NPLM(corpora.vocab_size, **chosen.model, rng=generator(0, "init"))
    result = fit(model, train, None, replace(chosen.training, eval_every=10**9))
    seconds = time.process_time() - started
    nats = float(model.score(test.windows(model.context)).mean())
    return Result(_parameters(model), result.steps, seconds, nats)


def _parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def step_gain(setting: Setting, corpora: Corpora) -> tuple[int, float]:
    """Windows of 32 names, and how many times as fast a step over them is as the usual one, sizes being the same."""
    train = corpora.train
    windows = round(BATCH * len(train) / len(units(train)))
    config = TrainConfig(steps=10**9, batch_size=windows, lr=5e-4, clip=None)
    trainer = Trainer(NPLM(corpora.vocab_size, C, M, H, direct=False), train.windows(C), config, 10**9)
    loop = UsualLoop(units(train), corpora.vocab_size)
    seconds = setting.in_turn({"usual": loop.step, "ours": trainer.update}, rounds=20 * setting.rounds)
    return windows, seconds["usual"] / seconds["ours"]


def measure(setting: Setting) -> Sheet:
    """Both trained, and their steps in turn."""
    path = None if setting.quick else setting.options.data or data_file("names.txt")
    corpora = split_names(path)
    windows, gain = step_gain(setting, corpora)
    theirs, own = usual(corpora, 20 if setting.quick else setting.options.steps), ours(corpora, setting.quick)
    reached = own.nats <= theirs.nats
    note = "" if reached else f"missed: ours ends at {own.nats:.4f} nats, the usual loop at {theirs.nats:.4f}"
    ratio = own.seconds / theirs.seconds if reached else None
    lines = [
        f"{len(units(corpora.train))} {'names' if path else 'words of the embedded tales'} train, "
        f"{len(units(corpora.part('test')))} test.",
        "",
        *table(
            ["", "parameters", "steps", "seconds", "exact test loss, nats", "perplexity"],
            [theirs.row("the usual loop"), own.row("neuralgram")],
        ),
        f"A step of {BATCH} names ({windows} windows), sizes the same: {gain:.2f} × as fast.",
    ]
    figures = [
        Figure(3, "time to the usual loop's exact test loss, over its time", ratio, 0.1, "<=", note=note),
        Figure(3, "steps of 32 names over the usual loop's", gain, 4.0),
    ]
    return Sheet(lines, figures)


if __name__ == "__main__":
    options = parser(__doc__)
    options.add_argument("--data", type=Path, help="names, one a line [names.txt of the data folder]")
    options.add_argument("--steps", type=int, default=10_000, help="of the usual loop [10000]")
    run(__file__, "Names", ABOUT, measure, options=options)
