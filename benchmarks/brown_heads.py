"""Brown trained with each head: validation perplexity against training seconds.

    python -m benchmarks.brown_heads [--data brown.zip] [--heads softmax sampled …] [--again]

The stream of the paper's experiment: 800 000 tokens train, 200 000 validate, types seen up to 3 times are one symbol.
n − 1 = 4, m 60, h 100, no direct path; each head with the settings that suit it, the expensive ones for fewer epochs.
What is done is kept in brown_heads.json, a head at a time, and not done again: a run may stop anywhere and go on.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, write
from benchmarks.harness import Setting, child_output, out_folder, parser, setting_of, table
from benchmarks.machine import device_named, machine
from benchmarks.picture import curves
from benchmarks.texts import brown_stream, data_file, parts, zipf
from neuralgram import NPLM, Corpus
from neuralgram.neural.scoring import log_normaliser
from neuralgram.numbers import spaced
from neuralgram.rng import generator
from neuralgram.text.windows import token_frequencies
from neuralgram.training.batches import Validation
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

C, M, H, BATCH = 4, 60, 100, 512
POINTS = 8  # of a curve
SAMPLE = 20_000  # validation tokens, evenly spaced, that a curve's point scores; its last one scores all
WITHIN = 1.03  # of the exact head's last perplexity
DENSE: dict[str, Any] = {"optimizer": "adamw", "lr": 2e-3, "weight_decay": 0.2, "epsilon": 1e-6}
SPARSE: dict[str, Any] = {"optimizer": "adagrad", "lr": 0.1, "weight_decay": 1e-6}
ABOUT = (
    f"The paper's stream of Brown: 800 000 tokens train, 200 000 validate. Context {C}, m {M}, h {H}, no direct path, "
    f"{BATCH} windows an update, a rate that falls to 0. Seconds are those of training alone, computed by one thread. "
    f"`softmax` and `mos` are given fewer epochs, so that all of it takes half an hour: compare heads at equal seconds."
)


@dataclass(frozen=True)
class Plan:
    """How a head is trained."""

    epochs: float
    training: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(f"{name} {value}" for name, value in (self.training | self.options).items())


PLANS = {
    "softmax": Plan(3, DENSE),
    "adaptive": Plan(3, DENSE),
    "tree": Plan(5, SPARSE),
    "sampled": Plan(5, DENSE, {"samples": 1024}),
    "nce": Plan(5, DENSE, {"samples": 1024}),
    "mos": Plan(0.1, DENSE, {"components": 2}),
}


@dataclass(frozen=True)
class Trained:
    """One head's result. `curve` has training seconds and the perplexity of the sample; `perplexity` is of all."""

    head: str
    plan: str
    epochs: float
    seconds: float
    tokens: int
    perplexity: float
    curve: list[tuple[float, float]]
    log_z: tuple[float, float] | None  # mean and standard deviation, of nce

    @classmethod
    def of(cls, values: dict[str, Any]) -> Trained:
        """What a JSON file kept of it."""
        log_z, curve = values["log_z"], [tuple(point) for point in values["curve"]]
        return cls(**{**values, "curve": curve, "log_z": None if log_z is None else tuple(log_z)})

    def reached(self, perplexity: float) -> float | None:
        """Training seconds at the first point of the curve that is no worse, or None."""
        return next((seconds for seconds, found in self.curve if found <= perplexity), None)


def text(setting: Setting) -> tuple[Corpus, Corpus]:
    """Training and validation part of Brown; of a quick run, ids by Zipf's law."""
    if setting.quick:
        return parts(Corpus(zipf(300, 6000), 300), 5000, 1000)
    path = setting.options.data or data_file("brown.zip")
    if path is None:
        raise SystemExit("brown.zip is not there: give it with --data, or its folder as NEURALGRAM_DATA")
    return parts(brown_stream(path), 800_000, 200_000)


def train(setting: Setting, head: str, train: Corpus, valid: Corpus) -> Trained:
    """One head, in this process."""
    plan = PLANS[head]
    model = NPLM(
        train.vocab_size, C, M, H, False, head=head, head_options=plan.options, head_counts=token_frequencies(train),
        rng=generator(0, "init"),
    ).to(setting.device)  # fmt: skip
    config = TrainConfig(epochs=plan.epochs, batch_size=BATCH, precision="fp32", **plan.training)
    windows = train.windows(C)
    steps = 4 if setting.quick else round(plan.epochs * (len(windows) // BATCH))
    trainer = Trainer(model, windows, config, steps)
    sample, curve, seconds = Validation(valid.windows(C), SAMPLE), [], 0.0
    for until in _stops(steps):
        started = setting.clock()
        for _ in trainer.run(until):
            pass
        seconds += setting.clock() - started
        curve.append((seconds, math.exp(sample.loss(model))))
        print(f"{head}: {until}/{steps} steps, {seconds:.0f} s, perplexity {curve[-1][1]:.1f}", file=sys.stderr)
    whole = math.exp(Validation(valid.windows(C)).loss(model))
    measured = log_normaliser(model, Corpus(valid.ids[:SAMPLE], valid.vocab_size).windows(C)) if head == "nce" else None
    log_z = (measured.mean, measured.sd) if measured else None
    return Trained(head, str(plan), plan.epochs, seconds, steps * BATCH, whole, curve, log_z)


def _stops(steps: int) -> Iterator[int]:
    yield from sorted({round(steps * (i + 1) / POINTS) for i in range(POINTS)} - {0})


def kept(path: Path) -> dict[str, Trained]:
    """The heads trained before."""
    if not path.exists():
        return {}
    stored = json.loads(path.read_text(encoding="utf-8")).get("heads", [])
    return {values["head"]: Trained.of(values) for values in stored}


def figures(heads: dict[str, Trained]) -> list[Figure]:
    """Training seconds of `sampled` and `nce` to within 3% of the exact head's last perplexity, over all of its own.

    Perplexities are those of the curves, all of the same sample.
    """
    exact, found = heads.get("softmax"), []
    for name in ("sampled", "nce"):
        if exact is None or name not in heads:
            continue
        seconds = heads[name].reached(WITHIN * exact.curve[-1][1])
        least = min(point[1] for point in heads[name].curve)
        note = "" if seconds else f"missed: its best is {least:.1f}, exact training ends at {exact.curve[-1][1]:.1f}"
        what = f"Brown, `{name}`: time to within 3% of exact training's perplexity, over its time"
        found.append(Figure(4, what, seconds and seconds / exact.seconds, 1.0, "<=", note=note))
    return found


def publish(folder: Path, where: str, heads: dict[str, Trained]) -> None:
    """Table, picture and data of what there is so far."""
    done = [heads[name] for name in PLANS if name in heads]
    target = WITHIN * heads["softmax"].curve[-1][1] if "softmax" in heads else None
    rows = []
    for t in done:
        within = t.reached(target) if target else None
        rows.append([t.head, t.plan, f"{t.epochs:g}", f"{t.seconds:.0f}", spaced(t.tokens / t.seconds),
                     f"{t.perplexity:.1f}", f"{within:.0f}" if within else "never" if target else "",
                     f"{t.log_z[0]:+.3f} ± {t.log_z[1]:.3f}" if t.log_z else ""])  # fmt: skip
    headers = ["head", "settings", "epochs", "training s", "tokens/s", "validation perplexity",
               "s to within 3% of softmax's last", "log Z"]  # fmt: skip
    lines = ["# Brown with each head", "", f"{ABOUT} {where}", "", *table(headers, rows)]
    if done:
        curves({t.head: t.curve for t in done}, folder / "brown_heads.png")
        lines += ["![Validation perplexity against training seconds, a curve a head](brown_heads.png)", "",
                  f"The curves score {spaced(SAMPLE)} evenly spaced tokens, the table all of them."]  # fmt: skip
    page = "\n".join(lines).rstrip() + "\n"
    (folder / "brown_heads.md").write_text(page, encoding="utf-8")
    write(folder / "brown_heads.json", where, figures(heads), heads=[asdict(t) for t in done])


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", type=Path, help="brown.zip [that of the data folder]")
    options.add_argument("--heads", nargs="*", default=list(PLANS), choices=list(PLANS), metavar="HEAD")
    options.add_argument("--again", action="store_true", help="train heads that were trained before")
    args = options.parse_args()
    if args.child:
        setting = setting_of(args, args.child)
        print(json.dumps(asdict(train(setting, args.heads[0], *text(setting)))))
        return
    folder, where = out_folder(args), machine(device_named(args.device))
    heads = kept(folder / "brown_heads.json")
    for head in args.heads:
        if head not in heads or args.again:
            heads[head] = Trained.of(child_output("brown_heads", 1, "--heads", head))
            publish(folder, where, heads)
    publish(folder, where, heads)
    print((folder / "brown_heads.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
