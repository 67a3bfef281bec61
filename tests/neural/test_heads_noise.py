"""Noise words: the alias table against its distribution, and the limits that `sampled` and `nce` approach."""

import math

import numpy as np
import pytest
import torch

from neuralgram.errors import InputError
from neuralgram.neural.heads.noise import Noise, alias_table, by_frequency, token_counts
from neuralgram.neural.nplm import NPLM
from neuralgram.neural.rows import row_gradients

V, B = 11, 7
COUNTS = np.array([50, 20, 9, 0, 7, 7, 3, 2, 2, 1, 1.0])


def probabilities(accept, other):
    """What an alias table gives: column v, one in V, is v or its other."""
    p = np.array(accept, np.float64)
    np.add.at(p, np.asarray(other), 1 - np.asarray(accept, np.float64))
    return p / len(p)


@pytest.mark.parametrize(
    "weights",
    [
        [1.0],
        [3.0, 1.0],
        [1.0, 1.0, 1.0],
        [1e-9, 1.0, 1.0],
        [5.0, 0.0, 0.0],
        np.arange(1.0, 1000),
        1 / np.arange(1.0, 5000),
    ],
    ids=["one", "two", "alike", "almost none", "none", "rising", "zipf"],
)
def test_an_alias_table_gives_back_its_distribution(weights):
    q = np.asarray(weights, np.float64)
    accept, other = alias_table(q)
    assert ((accept >= 0) & (accept <= 1)).all()
    np.testing.assert_allclose(probabilities(accept, other), q / q.sum(), atol=1e-12)


def test_random_alias_tables():
    random = np.random.default_rng(0)
    for _ in range(200):
        q = random.exponential(size=random.integers(1, 60)) ** random.integers(1, 6)
        np.testing.assert_allclose(probabilities(*alias_table(q)), q / q.sum(), atol=1e-12)


def test_draws_have_the_frequencies_of_q_and_are_a_function_of_the_seed():
    noise = Noise(COUNTS, 0.75)
    drawn = noise.draw(200_000, torch.Generator().manual_seed(1))
    assert torch.equal(drawn, noise.draw(200_000, torch.Generator().manual_seed(1)))
    expected = np.maximum(COUNTS, 0.5) ** 0.75  # a token never seen is drawn like one seen half a time
    expected /= expected.sum()
    np.testing.assert_allclose(noise.log_q.exp(), expected, rtol=1e-5)
    seen = np.bincount(drawn, minlength=V)
    assert (((seen - 200_000 * expected) ** 2) / (200_000 * expected)).sum() < 29.6  # χ² of 10 degrees, one in 1000


def test_counts():
    np.testing.assert_allclose(token_counts(None, 4), [4, 2, 4 / 3, 1])
    assert by_frequency(np.array([1.0, 3, 1, 7])).tolist() == [3, 1, 0, 2]
    for wrong in ([1, 2], [1, -1, 2], [1, math.nan, 2]):
        with pytest.raises(InputError, match="token counts of shape"):
            token_counts(wrong, 3)


def model(head, direct=True, tie=False, **options):
    return NPLM(V, 2, 3, 5, direct, head=head, tie=tie, head_options=options, head_counts=COUNTS).double()


def batch():
    random = np.random.default_rng(2)
    return torch.from_numpy(random.integers(0, V, (B, 2))), torch.from_numpy(random.integers(0, V, B))


def gradients(model, loss):
    model.zero_grad()
    loss.sum().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def scatter_weights(model):
    """Weights large enough that probabilities differ."""
    random = torch.Generator().manual_seed(4)
    for p in model.parameters():
        p.data.copy_(torch.randn(p.shape, generator=random, dtype=p.dtype) * 0.7)


def normalise(model, contexts):
    """Shift b so that Z = 1 for the one window in `contexts`."""
    with torch.no_grad():
        model.out.bias -= model(contexts).logsumexp(1)[0]


@pytest.mark.parametrize("head", ["sampled", "nce"])
@pytest.mark.parametrize(("direct", "tie"), [(True, False), (False, True)])
def test_the_loss_is_its_equation(head, direct, tie):
    net = model(head, direct, tie, samples=6)
    scatter_weights(net)
    contexts, targets = batch()
    losses = net.loss(contexts, targets, torch.Generator().manual_seed(3))
    noise = net.out.noise.draw(6, torch.Generator().manual_seed(3))
    s = net(contexts).detach().numpy()
    log_kq = np.log(6 * net.out.noise.log_q.exp().numpy())
    for i, y in enumerate(targets.tolist()):
        if head == "sampled":
            rest = sum(math.exp(s[i, w] - log_kq[w]) for w in noise.tolist() if w != y)
            expected = -s[i, y] + math.log(math.exp(s[i, y]) + rest)
        else:
            expected = math.log1p(math.exp(log_kq[y] - s[i, y]))
            expected += sum(math.log1p(math.exp(s[i, w] - log_kq[w])) for w in noise.tolist())
        assert losses[i].item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("head", ["sampled", "nce"])
@pytest.mark.parametrize("direct", [True, False])
def test_gradients_equal_finite_differences(head, direct):
    net = model(head, direct, samples=6)
    scatter_weights(net)
    contexts, targets = batch()
    scale = torch.linspace(0.5, 2, B, dtype=torch.float64)

    def total():
        return (net.loss(contexts, targets, torch.Generator().manual_seed(3)) * scale).sum()

    grads = gradients(net, net.loss(contexts, targets, torch.Generator().manual_seed(3)) * scale)
    for name, p in net.named_parameters():
        flat, wanted = p.data.view(-1), torch.empty(p.numel(), dtype=torch.float64)
        for i in range(len(flat)):
            kept = flat[i].item()
            flat[i] = kept + 1e-5
            high = total().item()
            flat[i] = kept - 1e-5
            wanted[i] = (high - total().item()) / 2e-5
            flat[i] = kept
        np.testing.assert_allclose(grads[name].view(-1), wanted, atol=2e-8, err_msg=name)


def test_row_sparse_gradients_are_the_dense_ones():
    for head in ("sampled", "nce"):
        net = model(head, samples=6)
        contexts, targets = batch()
        dense = gradients(net, net.loss(contexts, targets, torch.Generator().manual_seed(3)))
        net.zero_grad()
        with row_gradients(lambda *_: None):
            net.loss(contexts, targets, torch.Generator().manual_seed(3)).sum().backward()
        for name, p in net.named_parameters():
            assert p.grad.is_sparse == (not name.startswith("hidden"))
            np.testing.assert_allclose(p.grad.to_dense(), dense[name], atol=1e-14, err_msg=name)


def mean_gradient(net, contexts, targets, draws):
    """The mean gradient of the loss, in one vector, over `draws` noise batches."""
    total = 0
    rng = torch.Generator().manual_seed(5)
    for _ in range(draws):
        total = total + torch.cat([g.flatten() for g in gradients(net, net.loss(contexts, targets, rng)).values()])
    return total / draws


def exact_gradient(net, contexts, targets):
    logits = net(contexts)
    exact = gradients(net, logits.logsumexp(1) - logits[torch.arange(len(targets)), targets])
    return torch.cat([g.flatten() for g in exact.values()])


@pytest.mark.parametrize("head", ["sampled", "nce"])
def test_the_gradient_approaches_the_exact_one_as_k_grows(head):
    """Of one window, for which Z = 1: there the limit of nce is the exact gradient too."""
    contexts, targets = (a[:1] for a in batch())
    errors = []
    for k, draws in ((5, 1500), (100, 400), (5000, 100)):
        net = model(head, samples=k)
        scatter_weights(net)
        normalise(net, contexts)
        exact = exact_gradient(net, contexts, targets)
        errors.append(float((mean_gradient(net, contexts, targets, draws) - exact).norm() / exact.norm()))
    assert errors[1] < errors[0] / 3
    assert errors[2] < 0.01


def test_nce_approaches_its_limit_wherever_z_is():
    """Σ_w e^{s_w} ∇s_w − ∇s_y, with Z far from 1."""
    contexts, targets = (a[:1] for a in batch())
    net = model("nce", samples=100_000)
    scatter_weights(net)
    s = net(contexts)
    assert abs(s.logsumexp(1).item()) > 1
    limit = gradients(net, s.exp().sum(1) - s[:, targets[0]])
    expected = torch.cat([g.flatten() for g in limit.values()])
    found = mean_gradient(net, contexts, targets, 20)
    assert float((found - expected).norm() / expected.norm()) < 0.01


def test_a_score_too_low_for_single_precision_keeps_its_loss():
    net = model("sampled", samples=4).float()
    with torch.no_grad():
        net.out.bias[3] = -500.0
    loss = net.loss([[0, 1]], [3], torch.Generator().manual_seed(0))
    assert 490 < loss.item() < 510


def test_noise_needs_a_generator_and_sensible_options():
    with pytest.raises(InputError, match="nce head draws noise words"):
        model("nce").loss([[0, 1]], [1])
    for options, message in (
        ({"samples": 0}, "samples 0"),
        ({"samples": 2.5}, r"samples 2\.5"),
        ({"power": -1}, "power -1"),
        ({"k": 3}, "head option k: the sampled head has samples, power"),
    ):
        with pytest.raises(InputError, match=message):
            model("sampled", **options)
    with pytest.raises(InputError, match="head option k: the softmax head has smoothing"):
        NPLM(V, 2, 3, 5, head_options={"k": 1})


def test_nce_starts_normalised():
    net = NPLM(2000, 2, 8, 16, head="nce")
    logits = net([[5, 6]])
    assert abs(logits.logsumexp(1).item()) < 0.05
