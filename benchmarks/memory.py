"""Peak memory of a training step over what the step must hold: parameters, gradients, optimiser state.

    python -m benchmarks.memory [--vocab 250000] [--hidden 256] [--batch 1024]

Each head runs in a process of its own; what Python, PyTorch and the text took before the model was made is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import torch
from benchmarks.timing import machine, publish, table, zipf

from neuralgram import NPLM, Corpus
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

CASES = [("softmax", "adamw"), ("softmax", "sgd"), ("adaptive", "adamw"), ("tree", "adagrad"), ("sampled", "adamw"),
         ("sampled", "adagrad"), ("nce", "sparse-sgd")]  # fmt: skip


def resident() -> int:
    """Bytes this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(head: str, optimizer: str, vocab_size: int, hidden: int, batch: int) -> dict[str, float]:
    """Bytes: `must` hold, `peak` over the start, both of two updates."""
    torch.set_num_threads(1)
    warm = torch.randn(256, 256, requires_grad=True)
    (warm @ warm).sum().backward()  # what the library allocates once
    windows = Corpus(zipf(vocab_size, 8 * batch), vocab_size).windows(4)
    before = resident()
    model = NPLM(vocab_size, 4, 64, hidden, False, head=head)
    config = TrainConfig(steps=9, batch_size=batch, optimizer=optimizer, schedule="constant", lr=1e-3)
    trainer = Trainer(model, windows, config, 9)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # building a model is not what is measured
    for _ in range(2):
        trainer.update()
    parameters = sum(p.numel() * p.element_size() for p in model.parameters())
    state = sum(
        value.numel() * value.element_size() for name, value in trainer.state().items() if name.startswith("optimizer.")
    )
    sparse = optimizer in {"adagrad", "sparse-sgd"} and head not in {"softmax", "adaptive"}
    gradients = 0 if sparse else parameters
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024 or peak
    return {"parameters": parameters, "must": parameters + gradients + state, "peak": peak - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocab", type=int, default=250_000)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)  # in the child
    args = parser.parse_args()
    if args.case:
        print(json.dumps(measure(*args.case, args.vocab, args.hidden, args.batch)))
        return
    rows: list[list[object]] = []
    for case in CASES:
        command = [sys.executable, "-m", "benchmarks.memory", "--case", *case]
        command += ["--vocab", str(args.vocab), "--hidden", str(args.hidden), "--batch", str(args.batch)]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        mega = {name: f"{value / 2**20:,.0f}" for name, value in found.items()}
        ratio = f"{found['peak'] / found['must']:.2f}"
        rows.append([*case, mega["parameters"], mega["must"], mega["peak"], ratio])
    lines = [
        "# Memory of a training step",
        "",
        f"V {args.vocab:,}, context 4, m 64, h {args.hidden}, batch {args.batch}, no direct path; MiB. {machine()}",
        "",
        *table(["head", "optimiser", "parameters", "with gradients and state", "peak", "peak over that"], rows),
        "Row-sparse steps hold no gradient table, so none is counted for them.",
    ]
    publish(__file__, lines)


if __name__ == "__main__":
    main()
