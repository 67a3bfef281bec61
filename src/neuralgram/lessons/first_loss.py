"""The loss before training."""

from __future__ import annotations

import numpy as np

from neuralgram.lessons.lesson import Lesson, Values, figures, numbers, relation
from neuralgram.lessons.samples import Sample, sample_of
from neuralgram.tracing import batch
from neuralgram.tracing.algebra import elementwise, given
from neuralgram.tracing.network import Network
from neuralgram.tracing.steps import Check, Section


def _first_loss(sample: Sample, scale: float, context: int) -> float:
    """The loss of an untrained network whose output weights are `scale` times as large as they should be."""
    from neuralgram.neural.nplm import NPLM
    from neuralgram.rng import PCG32

    network = Network.of(NPLM(sample.train.vocab_size, context, 10, 64, direct=False, rng=PCG32(0)))
    weights = {**network.weights, "out.weight": network.weights["out.weight"] * scale}
    contexts, targets = sample.train.windows(context).slice(0, 512)
    log_p = batch.forward(network.with_weights(weights), contexts).log_p
    return -float(log_p[np.arange(len(targets)), targets].mean())


def _log_V(v: Values) -> list[Section]:
    scales = v["scale"]
    texts = {"the story, by characters": sample_of("story"), "the animals, by words": sample_of("animals")}
    names = list(texts)
    sizes = np.array([sample.train.vocab_size for sample in texts.values()], np.float64)
    losses = np.array([[_first_loss(sample, float(s), 3) for s in scales] for sample in texts.values()])
    uniform = (
        given("V", sizes, rows=lambda i: names[i]),
        elementwise(
            "log V", "ln {V}", np.log(sizes), {"V": sizes}, rows=lambda i: names[i], equation="−ln(1/V) = ln V"
        ),
        given("perplexity", sizes, equation="exp(ln V) = V", rows=lambda i: names[i]),
    )
    checks = figures("V", sizes, [26, 16], 0.0) + figures("log V", np.log(sizes), [3.26, 2.77], 5e-3)
    measured = given(
        "first loss",
        losses,
        equation="mean −ln p before any update, output weights × …",
        rows=lambda i: names[i],
        columns=[f"× {s:g}" for s in scales],
    )
    near: list[Check] = [
        relation(
            "as initialised, the first loss is log V",
            bool(np.abs(losses[:, 0] - np.log(sizes)).max() < 0.05),
            ", ".join(f"{loss:.3f}" for loss in losses[:, 0]),
        )
    ]
    text = (
        "An output layer that starts too large is sure of wrong words before it has seen anything: "
        "the first updates go into undoing that. A first loss far above log V says so."
    )
    return [
        Section("A guess that knows nothing", "Every word gets 1/V.", uniform, "text", checks=tuple(checks)),
        Section("Networks before their first update", text, (measured,), "text", checks=tuple(near)),
    ]


LOG_V = Lesson(
    "log-v",
    "The loss before training is log V",
    "3.26 for 26 characters, 2.77 for 16 words; much more is a fault",
    "\nThe cheapest test of all: look at the loss before the first update.\n",
    {"scale": numbers([1, 10, 100, 1000], "what the output weights are multiplied by", least=0, most=1e6)},
    _log_V,
    seconds=2,
)
