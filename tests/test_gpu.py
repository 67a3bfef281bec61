"""On a GPU everything is what it is on the processor, up to the rounding of single precision; skipped without one."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from neuralgram import NPLM, PCG32, Corpus
from neuralgram.families import HEADS
from neuralgram.neural import kernels
from neuralgram.neural.scoring import Scorer, top_k
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer

DEVICE = "cuda"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: PyTorch finds no CUDA device here"),
]
V, C = 300, 3


def ids(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, V, count)


def network(head: str = "softmax", **options) -> NPLM:
    return NPLM(V, C, 8, 16, rng=PCG32(1), head=head, **options)


def on_gpu(model: NPLM) -> NPLM:
    return copy.deepcopy(model).to(DEVICE)


@pytest.mark.parametrize("vocab_size", [50, 20_000])  # all logits at once, and in blocks
@pytest.mark.parametrize("even", [True, False])  # one upstream gradient for all examples, or one each
def test_the_exact_softmax_and_its_gradients(vocab_size, even):
    rng = torch.Generator().manual_seed(0)
    given = torch.randn(300, 12, generator=rng), torch.randn(vocab_size, 12, generator=rng), torch.zeros(vocab_size)
    y_B = torch.randint(vocab_size, (300,), generator=rng)
    upstream_B = torch.full((300,), 1 / 300) if even else torch.rand(300, generator=rng)
    found = []
    for device in ("cpu", DEVICE):
        f, U, b = leaves = [tensor.detach().clone().to(device).requires_grad_() for tensor in given]
        loss_B = kernels.softmax_loss(f, [U], b, y_B.to(device))
        loss_B.backward(upstream_B.to(device))
        found.append([loss_B.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("options", [{}, {"tie": True, "direct": False}, {"head": "adaptive"}, {"head": "tree"}],
                         ids=["softmax", "tied", "adaptive", "tree"])  # fmt: skip
def test_five_updates_end_in_the_same_weights(options, optimizer):
    config = TrainConfig(steps=5, batch_size=64, lr=0.05 if optimizer == "sgd" else 2e-3, optimizer=optimizer,
                         epsilon=1e-4, momentum=0.0, clip=1.0, weight_decay=0.01)  # fmt: skip
    model = network(**options)
    losses, weights = [], []
    for device in ("cpu", DEVICE):
        placed = copy.deepcopy(model).to(device)
        trainer = Trainer(placed, Corpus(ids(2000), V).windows(C), config, 5)
        losses.append([loss for steps in trainer.run() for loss in steps.losses])
        weights.append(placed.state())
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    before = model.state()
    for name, ours in weights[0].items():
        np.testing.assert_allclose(weights[1][name], ours, rtol=1e-3, atol=1e-5, err_msg=name)
        assert not name.endswith("weight") or not np.array_equal(ours, before[name]), f"{name} was not trained"


@pytest.mark.parametrize("head", ["sampled", "nce"])
@pytest.mark.parametrize("optimizer", ["sparse-sgd", "adagrad", "adamw"])
def test_heads_that_sample_train(head, optimizer):
    config = TrainConfig(steps=60, batch_size=64, lr=0.1 if optimizer != "adamw" else 5e-3, optimizer=optimizer,
                         weight_decay=1e-4)  # fmt: skip
    corpus = Corpus(ids(2000) % 7, V)
    model = on_gpu(network(head))
    before = model.score(corpus.windows(C)).mean()
    for _ in Trainer(model, corpus.windows(C), config, 60).run():
        pass
    assert model.score(corpus.windows(C)).mean() < before - 0.5  # seven words in use of three hundred


@pytest.mark.parametrize("head", list(HEADS))
def test_scores(head):
    model, windows = network(head), Corpus(ids(500), V).windows(C)
    there = on_gpu(model)
    np.testing.assert_allclose(there.score(windows), model.score(windows), atol=1e-5)
    contexts, targets = windows.slice(0, 40)
    rows = there.log_probs(contexts)
    np.testing.assert_allclose(np.exp(rows).sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(rows[np.arange(40), targets], model.context_nll(contexts, targets) * -1, atol=1e-5)


def test_scores_without_the_sum_and_the_likeliest_tokens():
    model = network("nce")
    contexts, targets = Corpus(ids(500), V).windows(C).slice(0, 100)
    ours, theirs = Scorer(model), Scorer(on_gpu(model))
    np.testing.assert_allclose(theirs.nll(contexts, targets), ours.nll(contexts, targets), atol=1e-5)
    assert theirs.one(contexts[0], targets[0]) == pytest.approx(ours.one(contexts[0], targets[0]), abs=1e-5)
    found, expected = theirs.top(contexts[0], 5), top_k(model, contexts[:1], 5)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=1e-5)


def test_bfloat16_is_near():
    if not kernels.has_bf16_units(torch.device(DEVICE)):
        pytest.skip("this GPU has no bf16 units")
    rng = torch.Generator().manual_seed(0)
    f, U, b = torch.rand(300, 12, generator=rng), torch.randn(20_000, 12, generator=rng) * 0.3, torch.zeros(20_000)
    y_B = torch.randint(20_000, (300,), generator=rng)
    exact = kernels.softmax_loss(f, [U], b, y_B)
    low = kernels.softmax_loss(f.to(DEVICE), [U.to(DEVICE)], b.to(DEVICE), y_B.to(DEVICE).clone(), "bf16")
    torch.testing.assert_close(low.cpu(), exact, rtol=5e-3, atol=5e-3)
