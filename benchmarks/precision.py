"""Validation perplexity after equal steps: trained in bf16 over trained in fp32.

    python -m benchmarks.precision [--steps 400]

The paper's model on the Brown stream (the embedded tales where it is absent), 1 024 windows a step, AdamW. Measured
where the device has bf16 units, or with --bf16.
"""

from __future__ import annotations

import math

from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, parser, run, table
from benchmarks.texts import brown_stream, data_file, parts
from neuralgram import NPLM, Corpus
from neuralgram.numbers import spaced
from neuralgram.rng import generator
from neuralgram.text.corpora import build_corpora
from neuralgram.text.samples import tales
from neuralgram.text.sources import Document
from neuralgram.training.batches import Validation
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

C, M, H = 4, 30, 100
WITHIN = 1.0  # %
WHAT = "validation perplexity after equal steps, bf16 above fp32"
ABOUT = f"Context {C}, m {M}, h {H}, no direct path; exact softmax, AdamW, 1 024 windows a step."


def text(quick: bool) -> tuple[str, Corpus, Corpus]:
    """What it is called, training and validation part."""
    path = None if quick else data_file("brown.zip")
    if path is not None:
        return "the Brown stream", *parts(brown_stream(path), 800_000, 200_000)
    made = build_corpora(
        [Document("tales", tales(3000 if quick else 600_000))], tokenizer="words", boundary="stream", split="0.9,0.1"
    )
    return "the embedded tales", made.part("train"), made.part("valid")


def perplexity(setting: Setting, train: Corpus, valid: Corpus, *, precision: str, steps: int, batch: int) -> float:
    """Of 20 000 evenly spaced validation tokens, after so many steps."""
    model = NPLM(train.vocab_size, C, M, H, False, rng=generator(0, "init"))
    model.set_precision(precision)
    config = TrainConfig(steps=steps, batch_size=batch, optimizer="adamw", lr=2e-3)
    trainer = Trainer(model.to(setting.device), train.windows(C), config, steps)
    for _ in trainer.run():
        pass
    return math.exp(Validation(valid.windows(C), 20_000).loss(model))


def measure(setting: Setting) -> Sheet:
    """Perplexities in each precision, and the one over the other."""
    if not setting.bf16:
        absent = Figure(1, WHAT, None, WITHIN, "<=", precision="bf16", unit="%", note=setting.no_bf16)
        return Sheet([f"{absent.note.capitalize()}."], [absent])
    name, train, valid = text(setting.quick)
    steps, batch = (5, 64) if setting.quick else (setting.options.steps, 1024)
    found = {p: perplexity(setting, train, valid, precision=p, steps=steps, batch=batch) for p in ("fp32", "bf16")}
    rows = [[precision, f"{value:.2f}"] for precision, value in found.items()]
    lines = [f"{steps} steps on {name}, V {spaced(train.vocab_size)}:", "", *table(["", "validation perplexity"], rows)]
    worse = 100 * (found["bf16"] / found["fp32"] - 1)
    figure = Figure(1, WHAT, worse, WITHIN, "<=", setting.threads, "bf16", "%")
    return Sheet(lines, [figure])


if __name__ == "__main__":
    options = parser(__doc__)
    options.add_argument("--steps", type=int, default=400)
    run(__file__, "Training in bf16", ABOUT, measure, options=options)
