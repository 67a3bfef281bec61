"""`train_nplm` against the loop written out from the equations, with gradients derived by hand in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import neuralgram as ng
from neuralgram import NPLM, PCG32, nplm_grads, nplm_loss, train_nplm
from neuralgram.errors import DivergedError, InputError
from neuralgram.text.windows import Corpus
from neuralgram.training.batches import Batches

V, C = 7, 3
IDS = np.array([PCG32(4).next_uint32() % V] + [x % V for x in PCG32(11).uint32s(46)])


def small(direct: bool = True) -> NPLM:
    return NPLM(V, C, 4, 5, direct=direct, rng=PCG32(2)).double()


def by_hand(model: NPLM) -> dict[str, Any]:
    """The parameters in the reference's names."""
    state = {name: value.astype(np.float64) for name, value in model.state().items()}
    names = {"E": "emb.weight", "W1": "hidden.weight", "b1": "hidden.bias", "W2": "out.weight", "b2": "out.bias"}
    turned = {"W1", "W2", "W3"}
    names |= {"W3": "direct.weight"} if "direct.weight" in state else {}
    out = {key: state[name].T.copy() if key in turned else state[name].copy() for key, name in names.items()}
    return {"W3": None, **out}


def the_loop(
    model: NPLM, steps: int, batch_size: int, lr: float, seed: int, momentum: float, decay: float, clip: float | None
) -> tuple[dict[str, Any], list[float]]:
    p = by_hand(model)
    batches = Batches(Corpus(IDS, V).windows(C), batch_size, seed)
    names = [name for name in p if p[name] is not None]
    velocity = {name: np.zeros_like(p[name]) for name in names}
    losses = []
    for step in range(steps):
        x, y = (part.numpy() for part in batches.batch(step))
        losses.append(nplm_loss(p, x, y)[0])
        g = nplm_grads(p, x, y)
        norm = np.sqrt(sum((g[name] ** 2).sum() for name in names))
        for name in names:
            gradient = g[name] * min(1.0, clip / norm) if clip is not None else g[name]
            if not name.startswith("b"):
                gradient = gradient + decay * p[name]
            velocity[name] = momentum * velocity[name] + gradient
        for name in names:
            p[name] = p[name] - lr * velocity[name]
    return p, losses


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(
    ("momentum", "decay", "clip"), [(0.0, 0.0, None), (0.9, 0.0, None), (0.9, 0.05, None), (0.5, 0.1, 0.3)]
)
def test_it_is_the_loop_of_the_equations(direct: bool, momentum: float, decay: float, clip: float | None) -> None:
    # 44 windows, 4 batches of 10 an epoch, 11 steps: almost three epochs under one optimiser.
    expected, expected_losses = the_loop(small(direct), 11, 10, 0.3, PCG32(9).next_uint32(), momentum, decay, clip)
    model = small(direct)
    losses = train_nplm(model, IDS, 11, 10, 0.3, PCG32(9), momentum=momentum, weight_decay=decay, clip=clip)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-9)
    for name, value in by_hand(model).items():
        if value is not None:
            np.testing.assert_allclose(value, expected[name], rtol=1e-8, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("momentum", "decay", "clip"), [(0.0, 0.0, None), (0.9, 0.05, None), (0.5, 0.1, 0.3)])
def test_it_can_be_rebuilt_from_public_names(dtype: str, momentum: float, decay: float, clip: float | None) -> None:
    """`windows`, `permutation`, `loss`, `param_groups` and PyTorch's optimiser: the same weights, bit for bit."""
    mine, theirs = (ng.NPLM(V, C, 4, 5, rng=ng.PCG32(2)).to(getattr(torch, dtype)) for _ in range(2))
    rng, steps, size = ng.PCG32(9), 11, 10
    contexts, targets = ng.windows(IDS, C)
    seed, per_epoch = rng.next_uint32(), len(targets) // size
    optimiser = torch.optim.SGD(mine.param_groups(decay), lr=0.3, momentum=momentum, fused=True)
    losses = []
    for step in range(steps):
        epoch, i = divmod(step, per_epoch)
        rows = ng.permutation(len(targets), seed, epoch)[i * size : (i + 1) * size]
        loss = mine.loss(contexts[rows], targets[rows]).sum() / size
        optimiser.zero_grad()
        loss.backward()
        if clip is not None:
            norm = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in mine.parameters()]))
            for p in mine.parameters():
                p.grad.mul_((clip / norm).clamp(max=1.0))
        optimiser.step()
        losses.append(loss.item())
    assert ng.train_nplm(theirs, IDS, steps, size, 0.3, ng.PCG32(9), momentum, decay, clip) == losses
    for name, value in mine.state().items():
        np.testing.assert_array_equal(theirs.state()[name], value, err_msg=name)


@pytest.mark.parametrize("n", [0, 1, 2, 44, 100])
def test_the_public_permutation_is_the_one_that_training_follows(n: int) -> None:
    for seed, epoch in ((0, 0), (5, 3), (2**32 - 1, 1)):
        order = ng.permutation(n, seed, epoch)
        assert sorted(order.tolist()) == list(range(n))
        if n > 1:
            batches = Batches(Corpus(np.arange(n + 1) % V, V).windows(1), n, seed)
            np.testing.assert_array_equal(batches.order(epoch).take(0, n), order)
    assert ng.permutation(100, 1, 0).tolist() != ng.permutation(100, 1, 1).tolist()
    with pytest.raises(InputError, match="n -1, epoch 0"):
        ng.permutation(-1, 0)


def test_clipping_bites() -> None:
    runs = [train_nplm(small(), IDS, 8, 10, 1.0, PCG32(9), clip=clip) for clip in (None, 0.05, 1e6)]
    assert runs[0] == pytest.approx(runs[2], rel=1e-12)
    assert abs(runs[0][-1] - runs[1][-1]) > 1e-3


def test_weight_decay_never_touches_a_bias() -> None:
    plain, decayed = small(), small()
    for model, decay in ((plain, 0.0), (decayed, 0.5)):
        for parameter in (model.hidden.bias, model.out.bias):
            parameter.data.add_(1.0)
        train_nplm(model, IDS, 1, 10, 0.1, PCG32(9), weight_decay=decay)
    for name in ("hidden.bias", "out.bias"):
        np.testing.assert_array_equal(plain.state()[name], decayed.state()[name])
    for name in ("emb.weight", "hidden.weight", "out.weight", "direct.weight"):
        assert abs(plain.state()[name] - decayed.state()[name]).max() > 1e-3


def test_exactly_as_many_steps_as_asked_over_epochs_of_one_batch() -> None:
    losses = train_nplm(small(), IDS, 3, 44, 0.1, PCG32(1))
    assert len(losses) == 3
    assert losses[0] > losses[1] > losses[2]  # the same full batch, three times


def test_it_learns_a_pattern_and_a_seed_repeats_the_run() -> None:
    ids = np.tile([0, 1, 2, 3, 4], 40)
    runs = []
    for _ in range(2):
        model = NPLM(5, 2, 4, 8)
        losses = train_nplm(model, ids, 300, 20, 0.5, PCG32(3), momentum=0.9)
        runs.append((losses, model.state()))
    assert runs[0][0] == runs[1][0]
    assert runs[0][0][0] == pytest.approx(np.log(5), abs=0.05)
    assert runs[0][0][-1] < 0.01
    for name, value in runs[0][1].items():
        np.testing.assert_array_equal(value, runs[1][1][name])


def test_the_seed_is_one_draw() -> None:
    rng = PCG32(9)
    train_nplm(small(), IDS, 2, 10, 0.1, rng)
    after = PCG32(9)
    after.next_uint32()
    assert rng.next_uint32() == after.next_uint32()


@pytest.mark.parametrize(
    ("ids", "steps", "batch_size", "lr", "message"),
    [
        (IDS, 5, 45, 0.1, "44 windows of 3 \\+ 1 tokens: expected at least one batch, 45"),
        (IDS[:3], 5, 1, 0.1, "0 windows"),
        (IDS, 0, 5, 0.1, "steps 0"),
        (IDS, 5, 0, 0.1, "batch_size 0"),
        (IDS, 5, 5, -0.1, "lr -0.1"),
        (IDS, 5, 5, float("nan"), "lr nan"),
        (np.array([0, 1, 2, 7] * 5), 5, 5, 0.1, "id 7 is outside the vocabulary: expected 0 … 6"),
        (np.array([0, 1, -1, 2] * 5), 5, 5, 0.1, "id -1 is outside"),
        (IDS.reshape(-1, 1), 5, 5, 0.1, "shape"),
    ],
)
def test_refusals(ids: Any, steps: int, batch_size: int, lr: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_nplm(small(), ids, steps, batch_size, lr, PCG32(1))


def test_a_learning_rate_that_explodes_is_named_with_its_step() -> None:
    model = NPLM(V, C, 4, 5, rng=PCG32(2))
    with pytest.raises(
        DivergedError, match=r"diverged: the loss was \w+ at step \d+, learning rate 1e\+30; try a tenth"
    ):
        train_nplm(model, IDS, 50, 10, 1e30, PCG32(1))
