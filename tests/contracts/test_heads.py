"""The contract of every output layer, run over whatever is registered, with and without W, and tied where allowed."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from neuralgram import modeldir
from neuralgram.errors import InputError
from neuralgram.families import HEADS, member
from neuralgram.neural.nplm import NPLM
from neuralgram.rng import PCG32
from neuralgram.text.windows import Corpus
from neuralgram.training.config import TrainConfig
from neuralgram.training.fit import fit
from neuralgram.training.loop import train_nplm

V, C, B = 13, 2, 9
COUNTS = np.array([4, 90, 3, 30, 0, 12, 7, 55, 1, 1, 2, 20, 6.0])
UNTIED = ("tree",)
SHAPES = {
    "plain": {"d_hidden": 5, "direct": False},
    "direct": {"d_hidden": 5, "direct": True},
    "paper without hidden layer": {"d_hidden": [], "direct": True},
    "tied": {"d_hidden": 5, "direct": False, "tie": True},
    "tied, direct": {"d_hidden": 3, "direct": True, "tie": True},
}
ALL = [
    pytest.param(head, shape, id=f"{head}-{shape}")
    for head in HEADS
    for shape in SHAPES
    if not (head in UNTIED and "tied" in shape)
]


def network(head, shape, counts=COUNTS):
    """A float64 network with weights large enough to make predictions differ."""
    net = NPLM(V, C, 3, **SHAPES[shape], head=head, head_counts=counts, rng=PCG32(3)).double()
    random = torch.Generator().manual_seed(7)
    for p in net.parameters():
        p.data.copy_(0.6 * torch.randn(p.shape, generator=random, dtype=p.dtype))
    return net


def batch():
    random = np.random.default_rng(5)
    return random.integers(0, V, (B, C)), np.append(random.integers(0, V, B - 1), 4)


def rng():
    return torch.Generator().manual_seed(11)


@pytest.mark.parametrize(("head", "shape"), ALL)
def test_rows_sum_to_one_and_losses_are_gathered_from_them(head, shape):
    for net in (network(head, shape), NPLM(V, C, 3, **SHAPES[shape], head=head)):
        contexts, targets = batch()
        rows = net.log_probs(contexts)
        assert rows.dtype == np.float64
        np.testing.assert_allclose(
            np.exp(rows).sum(1), 1, rtol=1e-12 if net.emb.weight.dtype == torch.float64 else 3e-7
        )
        tolerance = 1e-11 if net.emb.weight.dtype == torch.float64 else 3e-6
        losses = net.context_nll(contexts, targets)
        assert losses.dtype == np.float64
        np.testing.assert_allclose(losses, -rows[np.arange(B), targets], atol=tolerance)
        np.testing.assert_allclose(net(contexts).detach().log_softmax(1), rows, atol=tolerance)
        for target in range(V):
            np.testing.assert_allclose(net.context_nll(contexts, np.full(B, target)), -rows[:, target], atol=tolerance)


@pytest.mark.parametrize(("head", "shape"), ALL)
def test_a_head_is_linear_or_explains_its_way_to_P(head, shape):
    net = network(head, shape)
    for context in batch()[0][:3]:
        features = net.features(context[None])
        panels = net.out.explain(features, [4, 0, 12])
        p = np.exp(net.log_probs(context[None])[0])
        if member(HEADS, head, "head").linear:
            w, f, start = net.state(), features[0].detach().numpy(), 0
            y = w["out.bias"].copy()
            for key in ("emb.weight" if SHAPES[shape].get("tie") else "out.weight", "direct.weight"):
                if key in w:
                    y += w[key] @ f[start : start + w[key].shape[1]]
                    start += w[key].shape[1]
            assert (panels, start) == ((), len(f))
            np.testing.assert_allclose(np.exp(y) / np.exp(y).sum(), p, rtol=1e-12)
            continue
        for panel in panels:
            rows = V if panel.rows is None else len(panel.rows)
            assert {len(q.value) for q in panel.quantities if q.value.ndim} <= {rows}
        last = {q.name: q.value for q in panels[-1].quantities}
        assert panels[-1].rows is None
        np.testing.assert_allclose(last["p"], p, rtol=1e-12)


@pytest.mark.parametrize(("head", "shape"), ALL)
def test_a_batch_is_its_rows(head, shape):
    net = network(head, shape)
    contexts, targets = batch()
    alone = [net.context_nll(contexts[i : i + 1], targets[i : i + 1])[0] for i in range(B)]
    np.testing.assert_allclose(net.context_nll(contexts, targets), alone, rtol=1e-12)
    assert net.context_nll(contexts[:0], targets[:0]).shape == (0,)
    assert net.log_probs(contexts[:0]).shape == (0, V)


@pytest.mark.parametrize(("head", "shape"), ALL)
def test_gradients_equal_finite_differences(head, shape):
    net = network(head, shape)
    contexts, targets = batch()
    weight = torch.linspace(0.3, 2, B, dtype=torch.float64)  # examples count differently

    def total():
        return (net.loss(contexts, targets, rng()) * weight).sum()

    total().backward()
    for name, p in net.named_parameters():
        assert p.grad is not None, name
        assert p.grad.abs().sum() > 0, name
        flat, found = p.data.view(-1), p.grad.view(-1)
        for i in np.random.default_rng(1).permutation(len(flat))[:12]:
            kept = flat[i].item()
            flat[i] = kept + 1e-5
            high = total().item()
            flat[i] = kept - 1e-5
            low = total().item()
            flat[i] = kept
            assert found[i].item() == pytest.approx((high - low) / 2e-5, abs=3e-8), (name, i)


@pytest.mark.parametrize(("head", "shape"), ALL)
def test_logits_have_gradients(head, shape):
    net = network(head, shape)
    contexts, targets = batch()
    exact = torch.nn.functional.cross_entropy(net(contexts), torch.from_numpy(targets))
    exact.backward()
    assert exact.item() == pytest.approx(net.context_nll(contexts, targets).mean(), rel=1e-12)
    assert all(p.grad is not None for p in net.parameters())


@pytest.mark.parametrize("head", HEADS)
def test_an_exact_head_trains_on_its_loss(head):
    if head in {"sampled", "nce"}:
        pytest.skip("learns from noise words; its limits are tested in tests/neural/test_heads_noise.py")
    net = network(head, "direct")
    contexts, targets = batch()
    np.testing.assert_allclose(
        net.loss(contexts, targets, rng()).detach(), net.context_nll(contexts, targets), rtol=1e-12
    )


@pytest.mark.parametrize(("head", "shape"), ALL)
def test_saving_changes_nothing(head, shape, tmp_path):
    net = network(head, shape).float()
    config = json.loads(json.dumps(net.config()))
    again = NPLM.from_state(config, net.state())
    modeldir.save(tmp_path / "model", modeldir.Saved(net, None))
    contexts, targets = batch()
    for other in (again, modeldir.load_nplm(tmp_path / "model")):
        assert list(other.state()) == list(net.state())
        np.testing.assert_array_equal(other.log_probs(contexts), net.log_probs(contexts))
        np.testing.assert_array_equal(other.context_nll(contexts, targets), net.context_nll(contexts, targets))
        losses = [model.loss(contexts, targets, rng()).tolist() for model in (net, other)]
        assert losses[0] == losses[1]
    own = {"emb.weight", "hidden.weight", "hidden.bias", "direct.weight", "project.weight"}
    assert all(name.startswith("out.") for name in net.state().keys() - own)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("optimizer", ["adamw", "sparse-sgd", "adagrad"])
def test_training_learns_and_generates(head, optimizer):
    """A text that repeats 0 1 2 … 12 is certain once it is learnt."""
    ids = np.tile(np.arange(V), 40)
    net = NPLM(V, C, 6, 12, False, head=head)
    rate = {"adamw": 0.03, "sparse-sgd": 2.0, "adagrad": 0.3}[optimizer]
    if head in {"nce"} and "sgd" in optimizer:
        rate = 0.5  # its loss sums over the noise words, so its gradient is larger
    config = TrainConfig(steps=100, batch_size=32, optimizer=optimizer, lr=rate, weight_decay=1e-5, threads=1)
    fit(net, Corpus(ids, V), None, config)
    assert net.perplexity(ids) < 2
    assert net.generate([3, 4], 5, temperature=0) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("head", HEADS)
def test_training_is_a_function_of_the_seed(head):
    ids = np.random.default_rng(0).integers(0, V, 300)
    ends = []
    for seed in (1, 1, 2):
        net = NPLM(V, C, 3, 5, head=head)
        train_nplm(net, ids, 20, 16, 0.1, PCG32(seed))
        ends.append(net.state()["out.bias"])
    np.testing.assert_array_equal(ends[0], ends[1])
    assert (ends[0] != ends[2]).any()


@pytest.mark.parametrize("head", UNTIED)
def test_a_head_without_token_vectors_refuses_tying(head):
    with pytest.raises(InputError, match="untie them"):
        NPLM(V, C, 3, 5, False, tie=True, head=head)


@pytest.mark.parametrize("head", HEADS)
def test_small_vocabularies(head):
    for size in (2, 3, 4, 5):
        net = NPLM(size, 1, 2, 3, head=head)
        rows = np.exp(net.log_probs([[0], [1]]))
        np.testing.assert_allclose(rows.sum(1), 1, rtol=1e-6)
        assert net.loss([[0]], [1], rng()).isfinite().all()


@pytest.mark.parametrize("head", HEADS)
def test_unknown_options_are_refused(head):
    with pytest.raises(InputError, match=f"head option colour: the {head} head has"):
        NPLM(V, C, 3, 5, head=head, head_options={"colour": 1})
