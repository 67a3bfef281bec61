"""Training tokens per second of each output layer, and how they change with V.

    python -m benchmarks.heads [--rounds 7]

Context 4, m 30, h 100, no direct path, 1 024 windows an update (and 4 096), ids drawn by Zipf's law, one thread. Whole
updates: the batch gathered, forward, backward, optimiser. All heads of one V take turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from benchmarks.timing import in_turn, machine, publish, table, zipf

from neuralgram import NPLM, Corpus
from neuralgram.neural.heads import HEADS
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

C, M, H = 4, 30, 100
STEPPED = {"sampled": "sparse-sgd", "nce": "sparse-sgd", "tree": "sparse-sgd"}  # the others: AdamW
TOO_LARGE = {"softmax": 100_000, "adaptive": 100_000, "mos": 20_000}  # above this V an update takes too long here


def update(head: str, vocab_size: int, batch: int, *, samples: int = 128, optimizer: str = "") -> Callable[[], object]:
    """One update after another of a fresh network."""
    options = {"samples": samples} if head in {"sampled", "nce"} else {}
    optimizer = optimizer or STEPPED.get(head, "adamw")
    config = TrainConfig(steps=10**9, batch_size=batch, optimizer=optimizer, schedule="constant", lr=1e-3)
    model = NPLM(vocab_size, C, M, H, False, head=head, head_options=options)
    return Trainer(model, Corpus(zipf(vocab_size, 300_000), vocab_size).windows(C), config, 10**9).update


def by_head(vocab_size: int, rounds: int, batch: int = 1024) -> list[list[object]]:
    """One row a head."""
    heads = [head for head in HEADS if vocab_size <= TOO_LARGE.get(head, vocab_size)]
    seconds = in_turn({head: update(head, vocab_size, batch) for head in heads}, rounds)
    rows: list[list[object]] = []
    for head in heads:
        times = f"{seconds['softmax'] / seconds[head]:.1f}" if "softmax" in seconds else ""
        rows.append([f"{vocab_size:,}", head, STEPPED.get(head, "adamw"), f"{batch / seconds[head]:,.0f}", times])
    return rows


def with_vocabulary(rounds: int, batch: int = 1024) -> list[list[object]]:
    """Cost a token of the heads that do not depend on V, over that at the smallest V."""
    sizes = (10_000, 100_000, 1_000_000)
    rows: list[list[object]] = []
    for head in ("sampled", "nce"):
        for optimizer in ("sparse-sgd", "adagrad"):
            steps = {str(size): update(head, size, batch, optimizer=optimizer) for size in sizes}
            seconds = in_turn(steps, rounds)
            ratios = [seconds[str(size)] / seconds[str(sizes[0])] for size in sizes]
            rows.append([head, optimizer, f"{batch / seconds[str(sizes[0])]:,.0f}", *(f"{r:.2f}" for r in ratios)])
    return rows


def brown_sizes(rounds: int) -> list[list[object]]:
    """Tokens a second at Brown's V, by head, optimiser, noise words and batch."""
    kinds = [
        (head, optimizer, samples, batch)
        for head, optimizer in (("sampled", "sparse-sgd"), ("sampled", "adagrad"), ("nce", "sparse-sgd"))
        for samples in (100, 256)
        for batch in (1024, 4096)
    ]
    steps = {str(kind): update(kind[0], 17_906, kind[3], samples=kind[2], optimizer=kind[1]) for kind in kinds}
    seconds = in_turn(steps, rounds)
    return [
        [head, optimizer, k, B, f"{B / seconds[str((head, optimizer, k, B))]:,.0f}"] for head, optimizer, k, B in kinds
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="updates of each that count")
    args = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        "# Output layers",
        "",
        f"Context {C}, m {M}, h {H}, no direct path, ids by Zipf's law; medians of {args.rounds} updates in turn, "
        f"seconds that one thread computed. {machine()}",
        "",
        "Training tokens per second, 1 024 windows an update, 128 noise words:",
        "",
        *table(
            ["V", "head", "optimiser", "tokens/s", "× softmax"],
            [row for size in (10_000, 17_906, 100_000, 1_000_000) for row in by_head(size, args.rounds)],
        ),
        "Cost of a token over that at V 10 000:",
        "",
        *table(
            ["head", "optimiser", "tokens/s, V 10 000", "10 000", "100 000", "1 000 000"],
            with_vocabulary(5 * args.rounds),
        ),
        "At Brown's V, 17 906:",
        "",
        *table(["head", "optimiser", "noise words", "windows", "tokens/s"], brown_sizes(3 * args.rounds)),
    ]
    publish(__file__, lines)


if __name__ == "__main__":
    main()
