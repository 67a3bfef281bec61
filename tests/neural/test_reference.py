"""The NumPy reference against worked examples and differences: it must not share a mistake with the network."""

import numpy as np
import pytest
import torch

from neuralgram import NPLM, PCG32, nplm_grads, nplm_loss, nplm_params
from neuralgram.neural import nplm, reference
from neuralgram.neural.config import ACTIVATIONS
from tests.neural.examples import LETTERS
from tests.tracing.scattered import scattered


def _parameters(V: int, d: int, c: int, h: int, direct: bool) -> dict[str, np.ndarray | None]:
    rng = np.random.default_rng(3)
    shapes = {"E": (V, d), "W1": (c * d, h), "b1": (h,), "W2": (h, V), "b2": (V,)}
    P: dict[str, np.ndarray | None] = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    P["W3"] = rng.normal(size=(c * d, V)) if direct else None
    return P


@pytest.mark.parametrize(
    ("sizes", "total"),
    [
        ((16383, 30, 5, 100, False), 2_158_273),
        ((20_000, 50, 4, 200, False), 5_050_200),
        ((16383, 30, 5, 100, True), 2_158_273 + 16383 * 120),
        ((3, 1, 3, 1, True), 3 + 3 + 6 + 6),
    ],
)
def test_parameters_are_counted_from_the_order(sizes, total):
    assert nplm_params(*sizes) == total


def test_parameters_with_the_direct_path_follow_the_papers_formula():
    V, m, n, h = 1234, 17, 6, 55
    assert nplm_params(V, m, n, h, True) == V * (1 + n * m + h) + h * (1 + (n - 1) * m)


def test_loss_and_logits_of_the_three_letters():
    weights = {name: np.array(rows) for name, rows in LETTERS.items()}
    P = {
        "E": weights["emb.weight"],
        "W1": weights["hidden.weight"].T,
        "b1": weights["hidden.bias"],
        "W2": weights["out.weight"].T,
        "b2": weights["out.bias"],
        "W3": weights["direct.weight"].T,
    }
    loss, logits = nplm_loss(P, [[0, 2]], [0])
    assert loss == pytest.approx(0.272092, abs=5e-7)
    np.testing.assert_allclose(logits, [[1.761594, 0.5, -1.761594]], atol=5e-7)
    np.testing.assert_allclose(nplm_grads(P, [[0, 2]], [0])["b2"], [-0.238216, 0.215739, 0.022477], atol=5e-7)
    _, without = nplm_loss({**P, "W3": None}, [[0, 2]], [0])
    np.testing.assert_allclose(without, [[0.761594, 0.5, -0.761594]], atol=5e-7)


def test_loss_does_not_overflow():
    P = _parameters(4, 1, 1, 1, False)
    P["b2"] = np.array([1e4, 0.0, 0.0, 0.0])
    assert nplm_loss(P, [[0]], [1])[0] == pytest.approx(1e4, rel=1e-3)


@pytest.mark.parametrize("direct", [False, True])
def test_gradients_equal_differences_where_a_word_repeats(direct):
    P = _parameters(6, 2, 3, 4, direct)
    X = np.array([[1, 1, 1], [1, 4, 1], [5, 0, 1], [2, 1, 0]])
    Y = np.array([1, 0, 1, 5])
    grads = nplm_grads(P, X, Y)
    assert set(grads) == {name for name, value in P.items() if value is not None}
    assert not grads["E"][3].any()
    for name, grad in grads.items():
        for place in np.ndindex(grad.shape):
            kept = P[name][place]
            P[name][place] = kept + 1e-6
            above = nplm_loss(P, X, Y)[0]
            P[name][place] = kept - 1e-6
            below = nplm_loss(P, X, Y)[0]
            P[name][place] = kept
            assert grad[place] == pytest.approx((above - below) / 2e-6, abs=1e-8), (name, place)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_and_its_slope_are_pytorchs(name):
    assert set(ACTIVATIONS) == set(nplm.ACTIVATIONS)
    z = torch.linspace(-40, 40, 80, dtype=torch.float64, requires_grad=True)  # without 0, where relu has a kink
    a = nplm.ACTIVATIONS[name](z)
    a.sum().backward()
    mine = reference.ACTIVATIONS[name]
    f = mine.f(z.detach().numpy())
    np.testing.assert_allclose(f, a.detach().numpy(), atol=1e-15)
    np.testing.assert_allclose(mine.slope(z.detach().numpy(), f), z.grad.numpy(), atol=1e-15)
    at_steepest = mine.slope(np.array([1e-9]), mine.f(np.array([1e-9])))
    assert at_steepest == pytest.approx(mine.steepest)


NETWORKS = {
    "plain": {"d_hidden": 5, "direct": False},
    "direct": {"d_hidden": 5},
    "no hidden layer": {"d_hidden": []},
    **{name: {"d_hidden": [6, 5], "activation": name} for name in ACTIVATIONS},
    "tied": {"d_hidden": 4, "tie": True},
    "projected": {"d_hidden": [6, 5], "tie": True, "direct": False},
    "adaptive": {"d_hidden": 5, "head": "adaptive", "head_options": {"cutoffs": [3, 6]}},
    "tree": {"d_hidden": 5, "head": "tree", "direct": False},
    "mos, projected": {"d_hidden": 6, "head": "mos", "tie": True},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_network_is_pytorchs_forward_and_back_for_one_window_and_for_many(name):
    model = scattered(NPLM(11, 3, 4, rng=PCG32(3), **NETWORKS[name]).double())
    contexts, targets = np.array([[2, 7, 2], [1, 1, 1], [0, 10, 5], [2, 2, 7]]), np.array([9, 1, 0, 2])
    network = model.network()
    f = network.forward(contexts)
    np.testing.assert_allclose(f.log_p, model.log_probs(contexts), atol=1e-12)
    np.testing.assert_allclose(f.loss(targets), model.context_nll(contexts, targets), atol=1e-12)
    loss = torch.nn.functional.cross_entropy(model(contexts), torch.from_numpy(targets))
    loss.backward()
    found = network.backward(f, targets).parameters
    assert list(found) == [key for key, _ in model.named_parameters()]
    for key, parameter in model.named_parameters():
        np.testing.assert_allclose(found[key], parameter.grad.numpy(), atol=1e-12, err_msg=key)
    means = {key: np.zeros_like(value) for key, value in found.items()}
    for ids, target in zip(contexts, targets, strict=True):
        one = network.backward(network.forward(ids), target)
        assert one.x.shape == (12,)
        for key, value in one.parameters.items():
            means[key] += value / 4
    for key, value in found.items():
        np.testing.assert_allclose(means[key], value, atol=1e-12, err_msg=key)
