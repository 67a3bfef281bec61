"""What is compared is the same work: contenders agree in value, in gradient and after a step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks.texts import CHAINS, SENTENCE, chain, zipf
from torch.nn import functional as F

from benchmarks import loss, names, peers, step


def given(batch=300, vocab_size=700, width=12):
    return loss.inputs(vocab_size, width, batch, torch.device("cpu"))


def gradients(which, tensors):
    value = loss.with_gradients(which, tensors)()
    return [value, *(leaf.grad.clone() for leaf in tensors[:3])]


@pytest.mark.parametrize("name", ["own", *peers.chunked_losses("fp32")])
def test_losses_and_gradients_are_those_of_eager_pytorch(name):
    which = loss.own("fp32") if name == "own" else peers.chunked_losses("fp32")[name]
    tensors = given()
    expected = gradients(peers.eager, tensors)
    torch.testing.assert_close(gradients(which, tensors), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["own", *peers.chunked_losses("bf16")])
def test_in_bfloat16_they_are_near(name):
    which = loss.own("bf16") if name == "own" else peers.chunked_losses("bf16")[name]
    tensors = given()
    for found, expected in zip(gradients(which, tensors), gradients(peers.eager, tensors), strict=True):
        assert (found - expected).norm() < 0.02 * expected.norm()


def test_the_products_are_those_of_the_whole_batch(monkeypatch):
    f, U, _, _ = tensors = given(batch=300)
    monkeypatch.setattr(loss.kernels, "block_rows", lambda *_: 128)
    found = loss.products(tensors, "fp32")()
    f, U = f.detach(), U.detach()
    torch.testing.assert_close(found[:, :12], (f @ U.t()).t() @ f, rtol=1e-4, atol=1e-4)


def test_a_step_of_each_ends_in_the_same_weights(quick):
    ids = np.random.default_rng(0).integers(0, 200, 500)
    trainer = step.ours(quick(), ids, 200, 32, "fp32")
    windows = tuple(part.numpy() for part in trainer.batches.batch(0))
    model = step.Plain(200, peers.eager)
    weights = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    model.load_state_dict(weights)
    P = {"E": "emb.weight", "W1": "hidden.weight", "b1": "hidden.bias", "W2": "out.weight", "b2": "out.bias"}
    arrays = {
        short: weights[name].t().numpy() if short[0] == "W" else weights[name].numpy() for short, name in P.items()
    }
    trainer.update()
    step.peer(model, windows, fused=True)()
    step.plain_numpy(windows, arrays)()
    ours = trainer.model.state_dict()
    biases = {"hidden.bias", "out.bias"}  # ours never decay
    for short, name in P.items():
        torch.testing.assert_close(
            model.state_dict()[name], ours[name], rtol=1e-3, atol=2e-5 if name in biases else 1e-6
        )
        byhand = torch.from_numpy(arrays[short].T if short[0] == "W" else arrays[short])
        torch.testing.assert_close(byhand, model.state_dict()[name], rtol=1e-3, atol=1e-6)


def test_the_usual_loops_loss_is_that_of_its_windows():
    names_ = [[0, 1, 2], [3, 1]]
    loop = names.UsualLoop(names_, symbols=5)  # four letters and the end
    start, blank, C = 0, 5, names.C
    losses = []
    for name in names_:
        read = [blank] * (C - 1) + [start] + [letter + 1 for letter in name]
        for place, target in enumerate([letter + 1 for letter in name] + [0]):
            newest_first = read[place : place + C][::-1]
            logits = loop.model.net(loop.model.table(torch.tensor(newest_first)).flatten())
            losses.append(F.cross_entropy(logits[None], torch.tensor([target])).item())
    assert loop.nats(names_) == pytest.approx(np.mean(losses), abs=1e-5)
    assert loop.step() == pytest.approx(np.mean(losses), abs=1e-5)


def test_a_chain_is_sentences_by_zipfs_law():
    corpus = chain(1000, SENTENCE * (CHAINS + 10))
    ids = np.asarray(corpus.ids)
    assert len(ids) == SENTENCE * (CHAINS + 10)
    assert (np.flatnonzero(ids == corpus.boundary) % SENTENCE == SENTENCE - 1).all()
    counts = np.sort(np.bincount(ids[ids != corpus.boundary], minlength=999))[::-1]
    harmonic = (1 / np.arange(1, 1000)).sum()
    assert counts[0] / counts.sum() == pytest.approx(1 / harmonic, rel=0.3)  # hashed: near it, not at it
    assert counts[99] / counts[0] == pytest.approx(1 / 100, rel=0.5)
    pairs = ids.reshape(-1, SENTENCE)[:, :2]
    shuffled = np.stack([pairs[:, 0], np.random.default_rng(0).permutation(pairs[:, 1])], 1)
    assert len(np.unique(pairs, axis=0)) < 0.8 * len(np.unique(shuffled, axis=0))  # a token depends on the one before
    np.testing.assert_array_equal(ids, chain(1000, SENTENCE * (CHAINS + 10)).ids)


def test_zipf():
    counts = np.bincount(zipf(10, 100_000), minlength=10) / 100_000
    np.testing.assert_allclose(counts, 1 / np.arange(1, 11) / (1 / np.arange(1, 11)).sum(), atol=0.005)
