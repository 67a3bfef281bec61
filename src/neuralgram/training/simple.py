"""`train_nplm`: the training loop as one call on a sequence of ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from neuralgram.errors import InputError
from neuralgram.rng import PCG32
from neuralgram.text.windows import Corpus, as_ids
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM


def train_nplm(  # noqa: PLR0917 - the contract's signature
    model: NPLM,
    ids: ArrayLike,
    steps: int,
    batch_size: int,
    lr: float,
    rng: PCG32,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    clip: float | None = None,
) -> list[float]:
    """Train `model` on one stream of ids by SGD: v ← μv + g, p ← p − lr·v, g + λp on all but biases.

    One seed is drawn from `rng`; each epoch is a permutation of the windows, its last partial batch
    dropped, and epochs follow one another until exactly `steps` updates of `batch_size` windows are made.
    Returns the mean loss in nats before each update. Raises `InputError` for sizes below 1, ids outside
    the vocabulary, and fewer windows than one batch; `DivergedError` when a loss is not a number.
    """
    config = TrainConfig(
        steps=steps,
        batch_size=batch_size,
        seed=rng.next_uint32(),
        optimizer="sgd",
        schedule="constant",
        lr=lr,
        momentum=momentum,
        weight_decay=weight_decay,
        clip=clip,
    )
    flat = as_ids(ids, model.vocab_size)
    if flat.ndim != 1:
        raise InputError(f"ids of shape {flat.shape}: expected one sequence, [T]")
    trainer = Trainer(model, Corpus(flat, model.vocab_size).windows(model.context), config, steps)
    return [loss for done in trainer.run() for loss in done.losses]
