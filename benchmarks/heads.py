"""Training tokens per second of each output layer, and how they change with V.

    python -m benchmarks.heads [--rounds 9] [--threads 1 2]

Context 4, m 30, h 100, no direct path, ids drawn by Zipf's law. Whole updates: the batch gathered, forward, backward,
optimiser. All heads of one V take turns. What does not depend on threads is measured on one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, parser, run, table
from benchmarks.texts import zipf
from neuralgram import NPLM, Corpus
from neuralgram.families import HEADS
from neuralgram.numbers import spaced
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

C, M, H = 4, 30, 100
STEPPED = {"sampled": "sparse-sgd", "nce": "sparse-sgd", "tree": "sparse-sgd"}  # the others: AdamW
TOO_LARGE = {"softmax": 100_000, "adaptive": 100_000, "mos": 20_000}  # above this V an update takes too long here
BROWN_V, ISI, ISI_NOISE = 17_906, 80_000, 100  # ISI's nplm: tokens/s of one thread with so many noise words
TARGET_LARGE, TARGET_GROWTH, TARGET_BROWN = 10.0, 1.5, 240_000
ABOUT = f"Context {C}, m {M}, h {H}, no direct path, ids by Zipf's law."


class Sizes(NamedTuple):
    """What is measured: vocabularies of the table, that of the comparison with softmax, those of growth, batches."""

    vocabularies: tuple[int, ...] = (10_000, BROWN_V, 100_000, 1_000_000)
    large: int = 100_000
    growing: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    brown: int = BROWN_V
    batches: tuple[int, int] = (1024, 4096)
    tokens: int = 300_000


QUICK = Sizes((500, 1000), 1000, (500, 1000), 700, (64, 128), 2000)


def update(
    setting: Setting, head: str, vocab_size: int, batch: int, *, samples: int = 128, optimizer: str = ""
) -> Callable[[], object]:
    """One update after another of a fresh network."""
    tokens = sizes_of(setting).tokens
    options = {"samples": samples} if head in {"sampled", "nce"} else {}
    optimizer = optimizer or STEPPED.get(head, "adamw")
    config = TrainConfig(steps=10**9, batch_size=batch, optimizer=optimizer, schedule="constant", lr=1e-3)
    model = NPLM(vocab_size, C, M, H, False, head=head, head_options=options).to(setting.device)
    return Trainer(model, Corpus(zipf(vocab_size, tokens), vocab_size).windows(C), config, 10**9).update


def sizes_of(setting: Setting) -> Sizes:
    """The real sizes, or tiny ones."""
    return QUICK if setting.quick else Sizes()


def by_head(setting: Setting, vocab_size: int, heads: list[str], batch: int) -> dict[str, float]:
    """Tokens a second of each head that this V is not too large for."""
    taking = [head for head in heads if vocab_size <= TOO_LARGE.get(head, vocab_size)]
    seconds = setting.in_turn({head: update(setting, head, vocab_size, batch) for head in taking})
    return {head: batch / taken for head, taken in seconds.items()}


def rows_of(vocab_size: int, speed: dict[str, float]) -> list[list[object]]:
    """Their rows of the table."""
    softmax = speed.get("softmax")
    return [
        [spaced(vocab_size), head, STEPPED.get(head, "adamw"), spaced(v), f"{v / softmax:.1f}" if softmax else ""]
        for head, v in speed.items()
    ]


def over_softmax(setting: Setting, speed: dict[str, float]) -> list[Figure]:
    """`sampled` and `nce` over the exact softmax, with the target."""
    V = spaced(sizes_of(setting).large)
    return [
        Figure(4, f"`{head}` over `softmax`, V {V}, tokens/s", speed[head] / speed["softmax"], TARGET_LARGE,
               threads=setting.threads)
        for head in ("sampled", "nce")
    ]  # fmt: skip


def with_vocabulary(setting: Setting) -> tuple[list[list[object]], list[Figure]]:
    """Cost a token of the heads that do not depend on V, over that at the smallest V."""
    sizes = sizes_of(setting)
    least, batch = sizes.growing[0], sizes.batches[0]
    rows: list[list[object]] = []
    figures = []
    for head in ("sampled", "nce"):
        for optimizer in ("sparse-sgd", "adagrad"):
            steps = {str(size): update(setting, head, size, batch, optimizer=optimizer) for size in sizes.growing}
            seconds = setting.in_turn(steps, 4 * setting.rounds)
            ratios = [seconds[str(size)] / seconds[str(least)] for size in sizes.growing]
            rows.append([head, optimizer, spaced(batch / seconds[str(least)]), *(f"{r:.2f}" for r in ratios)])
            what = (
                f"`{head}`, {optimizer}: a token at V {spaced(sizes.growing[-1])} over one at V {spaced(least)}, time"
            )
            figures.append(Figure(4, what, ratios[-1], TARGET_GROWTH, "<="))
    return rows, figures


def at_browns_size(setting: Setting) -> tuple[list[list[object]], list[Figure]]:
    """Tokens a second at Brown's V by head, optimiser, noise words and batch; ISI's settings stand for the target."""
    sizes = sizes_of(setting)
    kinds = [
        (head, optimizer, samples, batch)
        for head, optimizer in (("nce", "sparse-sgd"), ("nce", "adagrad"), ("sampled", "sparse-sgd"),
                                ("sampled", "adagrad"))
        for samples in (ISI_NOISE, 256)
        for batch in sizes.batches
    ]  # fmt: skip
    steps = {
        str(kind): update(setting, kind[0], sizes.brown, kind[3], samples=kind[2], optimizer=kind[1]) for kind in kinds
    }
    seconds = setting.in_turn(steps, 2 * setting.rounds)
    speed = {kind: kind[3] / seconds[str(kind)] for kind in kinds}
    rows: list[list[object]] = [[*kind, spaced(tokens), f"{tokens / ISI:.2f}"] for kind, tokens in speed.items()]
    figures = []
    for head in ("nce", "sampled"):
        best = max((kind for kind in kinds if kind[0] == head and kind[2] == ISI_NOISE), key=speed.__getitem__)
        what = f"Brown's V, `{head}`, {ISI_NOISE} noise words, {spaced(best[3])} windows an update, {best[1]}"
        figures.append(Figure(4, what, speed[best], TARGET_BROWN, unit="tokens/s"))
    return rows, figures


def measure(setting: Setting) -> Sheet:
    """Everything on one thread; on more, what the target over the softmax is for."""
    sizes = sizes_of(setting)
    batch = sizes.batches[0]
    headers = ["V", "head", "optimiser", "tokens/s", "× softmax"]
    if setting.threads > 1:
        speed = by_head(setting, sizes.large, ["softmax", "sampled", "nce"], batch)
        return Sheet(table(headers, rows_of(sizes.large, speed)), over_softmax(setting, speed))
    speeds = {V: by_head(setting, V, list(HEADS), batch) for V in sizes.vocabularies}
    growth, growth_figures = with_vocabulary(setting)
    brown, brown_figures = at_browns_size(setting)
    lines = [
        f"Training tokens per second, {spaced(batch)} windows an update, 128 noise words:",
        "",
        *table(headers, [row for V, speed in speeds.items() for row in rows_of(V, speed)]),
        f"Cost of a token over that at V {spaced(sizes.growing[0])}:",
        "",
        *table(["head", "optimiser", "tokens/s there", *(spaced(size) for size in sizes.growing)], growth),
        f"At Brown's V, {spaced(sizes.brown)}. ISI's nplm, by NCE with {ISI_NOISE} noise words on one thread "
        f"of another 2-core machine: {spaced(ISI)} tokens/s.",
        "",
        *table(["head", "optimiser", "noise words", "windows", "tokens/s", "× ISI's, quoted"], brown),
    ]
    return Sheet(lines, [*over_softmax(setting, speeds[sizes.large]), *growth_figures, *brown_figures])


if __name__ == "__main__":
    run(__file__, "Output layers", ABOUT, measure, options=parser(__doc__), counts=(1, 2))
