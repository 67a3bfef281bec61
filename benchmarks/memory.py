"""Peak memory of a training step over what the step must hold: parameters, gradients, optimiser state.

    python -m benchmarks.memory [--vocab 250000] [--hidden 256] [--batch 1024]

Each head runs in a process of its own; what Python, PyTorch and the text took before the model was made is not counted.
On a GPU it is what PyTorch allocated there.
"""

from __future__ import annotations

import argparse
import json
from typing import NamedTuple

import torch

from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, child_output, parser, run, setting_of, table
from benchmarks.peak import forget, highest, resident
from benchmarks.texts import zipf
from neuralgram import NPLM, Corpus
from neuralgram.numbers import spaced
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

CASES = [("softmax", "adamw"), ("softmax", "sgd"), ("adaptive", "adamw"), ("tree", "adagrad"), ("sampled", "adamw"),
         ("sampled", "adagrad"), ("nce", "sparse-sgd")]  # fmt: skip
C, M = 4, 64
TARGET = 1.3
ABOUT = (
    f"Context {C}, m {M}, no direct path; MiB. Row-sparse steps hold no gradient table, so none is counted for them."
)


class Sizes(NamedTuple):
    """V, h and the windows of a step."""

    vocab: int
    hidden: int
    batch: int


class Bytes(NamedTuple):
    """Of a step: its parameters, what it must hold, and its peak over what was there before."""

    parameters: int
    must: int
    peak: int


def step(setting: Setting, head: str, optimizer: str, sizes: Sizes) -> Bytes:
    """Two updates, in this process."""
    warm = torch.randn(256, 256, requires_grad=True, device=setting.device)
    torch.autograd.backward((warm @ warm).sum())  # what the library allocates once
    windows = Corpus(zipf(sizes.vocab, 8 * sizes.batch), sizes.vocab).windows(C)
    on_gpu = setting.device.type == "cuda"
    before = torch.cuda.memory_allocated() if on_gpu else resident()
    model = NPLM(sizes.vocab, C, M, sizes.hidden, False, head=head).to(setting.device)
    config = TrainConfig(steps=9, batch_size=sizes.batch, optimizer=optimizer, schedule="constant", lr=1e-3)
    trainer = Trainer(model, windows, config, 9)
    if on_gpu:  # building a model is not what is measured
        torch.cuda.reset_peak_memory_stats()
    else:
        forget()
    for _ in range(2):
        trainer.update()
    peak = torch.cuda.max_memory_allocated() if on_gpu else highest()
    parameters = sum(p.numel() * p.element_size() for p in model.parameters())
    state = sum(
        value.numel() * value.element_size() for name, value in trainer.state().items() if name.startswith("optimizer.")
    )
    sparse = optimizer in {"adagrad", "sparse-sgd"} and head not in {"softmax", "adaptive"}
    return Bytes(parameters, parameters + (0 if sparse else parameters) + state, peak - before)


def sizes_of(setting: Setting) -> Sizes:
    """As asked, or tiny ones."""
    asked = setting.options
    return Sizes(20_000, 16, 32) if setting.quick else Sizes(asked.vocab, asked.hidden, asked.batch)


def in_process(case: tuple[str, str]) -> Bytes:
    """The same in a process of its own."""
    return Bytes(*child_output("memory", 1, "--case", *case))


def measure(setting: Setting) -> Sheet:
    """Every case, in a process of its own."""
    sizes = sizes_of(setting)
    rows: list[list[object]] = []
    figures = []
    for case in CASES[:1] if setting.quick else CASES:
        found = in_process(case)
        ratio = found.peak / found.must
        rows.append([*case, *(spaced(value / 2**20) for value in found), f"{ratio:.2f}"])
        what = f"peak of a step over what it must hold, `{case[0]}`, {case[1]}, V {spaced(sizes.vocab)}"
        figures.append(Figure(6, what, ratio, TARGET, "<="))
    headers = ["head", "optimiser", "parameters", "with gradients and state", "peak", "peak over that"]
    text = f"V {spaced(sizes.vocab)}, h {sizes.hidden}, {spaced(sizes.batch)} windows a step."
    return Sheet([text, "", *table(headers, rows)], figures)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--vocab", type=int, default=250_000)
    options.add_argument("--hidden", type=int, default=256)
    options.add_argument("--batch", type=int, default=1024)
    options.add_argument("--case", nargs=2, help=argparse.SUPPRESS)  # measure one, JSON on stdout
    args = options.parse_args()
    if args.case:
        setting = setting_of(args, 1)
        head, optimizer = args.case
        print(json.dumps(step(setting, head, optimizer, sizes_of(setting))))
    else:
        run(__file__, "Memory of a training step", ABOUT, measure, options=options)


if __name__ == "__main__":
    main()
