"""The contract's training: steps, the gradient, weight decay, momentum, clipping."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralgram.checking import reference as ref
from neuralgram.checking.reference import CONTEXT, IDS, SIZES
from neuralgram.checking.student import Student
from neuralgram.checking.verdict import ContractError, Difference, close, expect, expect_params

_DECAY = (  # where the two documents of the course differ
    "the training loop of L2.2 is one SGD over every parameter, d and b too; the paper, and the chapter on neural "
    "language models, decay no bias. Both are accepted."
)


def steps(student: Student) -> None:
    """Exactly `steps` updates, one loss each; an epoch's last partial batch is dropped."""
    params, windows = ref.random_params(SIZES, True), len(IDS) - CONTEXT
    for count, batch in ((3, windows), (7, 5)):
        losses = student.train(student.with_params(params, CONTEXT), IDS, count, batch, 0.01)
        if len(losses) != count:
            difference = Difference(f"losses for steps={count}", float(len(losses)), float(count))
            pitfall = "one-epoch" if len(losses) <= windows // batch else None
            raise ContractError("another number of steps", difference, pitfall)
    first = student.train(student.with_params(params, CONTEXT), IDS, 1, windows, 0.01)[0]
    wanted = float(ref.losses(params, IDS, CONTEXT).mean())
    faults = [
        ("gradient-not-averaged", wanted * windows),
        ("targets-shifted", float(ref.copied_losses(params, IDS, CONTEXT).mean())),
    ]
    expect("the first step's loss", first, wanted, faults=faults)


def _trained(student: Student, params: ref.Params, steps: int, lr: float, **options: Any) -> ref.Params:
    """A student's parameters after `steps` updates, each over all windows of IDS: no order can matter."""
    model = student.with_params(params, CONTEXT)
    student.train(model, IDS, steps, len(IDS) - CONTEXT, lr, **options)
    return student.params(model)


def gradients(student: Student) -> None:
    """One step of plain SGD moves every parameter by −lr times the mean gradient, C included."""
    for direct in (True, False):
        params = ref.random_params(SIZES, direct)
        exact = ref.grads(params, IDS, CONTEXT)
        moved = _trained(student, params, 1, 0.5)
        found = {name: (params[name] - moved[name]) / 0.5 for name in params}
        table = found["emb.weight"]
        count = len(IDS) - CONTEXT
        faults = [
            ("table-outside-graph", {**exact, "emb.weight": np.zeros_like(table)}),
            ("gradient-not-averaged", {name: g * count for name, g in exact.items()}),
            ("repeats-overwritten", {**exact, "emb.weight": ref.nearest_blocks(params, IDS, CONTEXT, table)}),
        ]
        expect_params(found, exact, faults, message="one step does not follow the gradient")


def decay(student: Student) -> str:
    """Weight decay adds λθ to the gradients of the matrices; of those of d and b the course's documents say both."""
    params = ref.random_params(SIZES, True)
    found = _trained(student, params, 1, 0.1, weight_decay=0.3)
    wanted = ref.sgd(params, IDS, CONTEXT, 1, 0.1, decay=0.3)
    both = ref.sgd(params, IDS, CONTEXT, 1, 0.1, decay=0.3, decay_biases=True)
    if all(close(found[name], both[name], 2e-5) for name in both):
        return f"d and b decay too: {_DECAY}"
    expect_params(found, wanted, message="weight decay differs")
    return f"no bias decays: {_DECAY}"


def momentum(student: Student) -> None:
    """One optimiser from the first step to the last: momentum lives on through the epochs."""
    params = ref.random_params(SIZES, True)
    found = _trained(student, params, 4, 0.1, momentum=0.9)
    faults = [
        ("optimiser-renewed", ref.sgd(params, IDS, CONTEXT, 4, 0.1, momentum=0.9, renew=True)),
        ("one-epoch", ref.sgd(params, IDS, CONTEXT, 1, 0.1, momentum=0.9)),
    ]
    wanted = ref.sgd(params, IDS, CONTEXT, 4, 0.1, momentum=0.9)
    expect_params(found, wanted, faults, message="four steps with momentum, each an epoch, differ")


def clip(student: Student) -> None:
    """`clip` bounds the norm of the whole gradient."""
    params = ref.random_params(SIZES, True)
    found = _trained(student, params, 2, 0.5, clip=0.05)
    faults = [("clip-ignored", ref.sgd(params, IDS, CONTEXT, 2, 0.5))]
    expect_params(found, ref.sgd(params, IDS, CONTEXT, 2, 0.5, clip=0.05), faults, message="clipping differs")
