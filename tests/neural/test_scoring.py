"""Scores without the sum, and single queries, against the equation as `forward` computes it."""

import numpy as np
import pytest
import torch

from neuralgram.errors import InputError
from neuralgram.neural import scoring
from neuralgram.neural.nplm import NPLM
from neuralgram.neural.scoring import Scorer, log_normaliser, top_k
from neuralgram.text.windows import Corpus

V, C = 40, 3
SHAPES = {
    "plain": {"d_hidden": 6, "direct": False},
    "direct": {"d_hidden": 6, "direct": True},
    "deep": {"d_hidden": [6, 5], "direct": True, "activation": "relu"},
    "no hidden layer": {"d_hidden": [], "direct": True},
    "tied": {"d_hidden": 6, "direct": False, "tie": True, "activation": "sigmoid"},
    "tied, direct": {"d_hidden": 4, "direct": True, "tie": True, "activation": "relu"},
    "identity": {"d_hidden": 6, "direct": False, "activation": "identity"},
}
HEADS = ("softmax", "sampled", "nce")


def network(shape, head="nce"):
    net = NPLM(V, C, 4, **SHAPES[shape], head=head)
    random = torch.Generator().manual_seed(4)
    for p in net.parameters():
        p.data.copy_(torch.randn(p.shape, generator=random) * 0.5)
    return net


def batch(size=50):
    random = np.random.default_rng(0)
    return random.integers(0, V, (size, C)), random.integers(0, V, size)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
def test_scores_are_the_logits(shape, head, monkeypatch):
    monkeypatch.setattr(scoring, "_ROWS", 16)
    net = network(shape, head)
    contexts, targets = batch()
    expected = -net(contexts).detach().numpy()[np.arange(50), targets]
    for limit in (scoring._TABLE_BYTES, 0):  # with the table of products and without
        monkeypatch.setattr(scoring, "_TABLE_BYTES", limit)
        scorer = Scorer(net)
        np.testing.assert_allclose(scorer.nll(contexts, targets), expected, atol=2e-6)
        alone = [scorer.one(c, t) for c, t in zip(contexts.tolist(), targets.tolist(), strict=True)]
        np.testing.assert_allclose(alone, expected, atol=2e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_best_tokens_with_their_probabilities(shape):
    net = network(shape)
    contexts, _ = batch()
    rows = net.log_probs(contexts)
    order = np.argsort(-rows, axis=1)
    for k in (1, 7, V, V + 5):
        best = top_k(net, contexts, k)
        np.testing.assert_array_equal(best.ids, order[:, :k])
        np.testing.assert_allclose(best.log_probs, np.take_along_axis(rows, order[:, :k], 1), atol=3e-6)
        one = Scorer(net).top(contexts[3].tolist(), k)
        np.testing.assert_array_equal(one.ids[0], order[3, :k])
        np.testing.assert_allclose(one.log_probs, best.log_probs[3:4], atol=3e-6)


@pytest.mark.parametrize("head", ["adaptive", "tree", "mos"])
def test_the_best_tokens_of_any_head(head):
    net = NPLM(V, C, 4, 6, head=head)
    contexts, _ = batch()
    best = top_k(net, contexts, 3)
    np.testing.assert_allclose(best.log_probs, -np.sort(-net.log_probs(contexts), 1)[:, :3], atol=1e-6)
    with pytest.raises(InputError, match=f"the {head} head gives no token a score of its own"):
        Scorer(net)


def test_the_log_normaliser_of_a_text():
    net = network("direct")
    ids = np.random.default_rng(1).integers(0, V, 500)
    contexts = np.lib.stride_tricks.sliding_window_view(ids, C + 1)[:, :C]
    log_z = net(contexts.copy()).detach().double().logsumexp(1).numpy()
    found = log_normaliser(net, Corpus(ids, V).windows(C))
    assert found.mean == pytest.approx(log_z.mean(), abs=1e-5)
    assert found.sd == pytest.approx(log_z.std(), abs=1e-5)
    assert found.tokens == 497
    with pytest.raises(InputError, match="without a window"):
        log_normaliser(net, Corpus(ids[:2], V).windows(C))


def test_nce_learns_to_be_normalised_and_sampled_does_not():
    """With Z near 1, the loss without the sum is near the exact one."""
    from neuralgram.training.config import TrainConfig
    from neuralgram.training.fit import fit

    ids = np.random.default_rng(3).choice(V, 4000, p=1 / np.arange(1, V + 1) / (1 / np.arange(1, V + 1)).sum())
    spread = {}
    for head in ("nce", "sampled"):
        net = NPLM(V, C, 4, 6, False, head=head, head_options={"samples": 20})
        with torch.no_grad():
            net.out.bias += 1.0  # log Z starts off by 1
        config = TrainConfig(steps=400, batch_size=64, lr=0.01, threads=1, optimizer="adamw")
        fit(net, Corpus(ids, V), None, config)
        spread[head] = log_normaliser(net, Corpus(ids, V).windows(C))
    assert abs(spread["nce"].mean) < 0.1
    assert spread["nce"].sd < 0.2
    assert abs(spread["sampled"].mean) > 1


def test_wrong_questions_are_refused():
    scorer = Scorer(network("plain"))
    for context, target in (([1, 2], 3), ([1, 2, V], 3), ([1, -2, 3], 3), ([1, 2, 3], V), ([1, 2, 3], -1)):
        with pytest.raises(InputError):
            scorer.one(context, target)
    with pytest.raises(InputError, match="k = 0"):
        scorer.top([1, 2, 3], 0)


def test_a_network_answers_with_the_fast_way():
    net = network("direct")
    contexts, targets = batch()
    found, expected = net.top(contexts, 4), top_k(net, contexts, 4)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.log_probs, expected.log_probs)
    scores = -net(contexts).detach().numpy()[np.arange(50), targets]
    np.testing.assert_allclose(net.unnormalized(contexts, targets), scores, atol=2e-6)
    np.testing.assert_allclose(net.unnormalized(contexts[:3], targets[:3]), scores[:3], atol=2e-6)  # without the table


@pytest.mark.parametrize("head", ["softmax", "sampled", "tree"])
def test_a_network_that_did_not_learn_to_be_normalised_says_so(head):
    with pytest.raises(InputError, match="score it normalised"):
        NPLM(V, C, 4, 6, head=head).unnormalized([[0, 1, 2]], [3])


def test_equal_tokens_come_in_the_order_of_their_ids():
    net = network("direct", "softmax")
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
        net.out.bias[[30, 4, 17]] = torch.tensor([1.0, 1.0, 2.0])
    for best in (net.top([[0, 1, 2]], 6), Scorer(net).top([0, 1, 2], 6)):
        assert best.ids.tolist() == [[17, 4, 30, 0, 1, 2]]
    assert net.top([[0, 1, 2]], 2).ids.tolist() == [[17, 4]]
