"""The equation: worked examples, gradients, initial weights, what sizes and options make of it."""

import copy
import math

import numpy as np
import pytest
import torch

from neuralgram import NPLM, PCG32, InputError, nplm_grads, nplm_loss, nplm_params
from tests.neural.examples import LETTERS, differences, letters, noisy, sentence

VARIANTS = {
    "direct": {},
    "plain": {"direct": False},
    "no hidden layer": {"d_hidden": []},
    "three hidden layers": {"d_hidden": [4, 3, 5]},
    "relu": {"activation": "relu"},
    "sigmoid": {"activation": "sigmoid"},
    "identity": {"activation": "identity", "direct": False},
    "tied": {"tie": True, "d_hidden": 3, "direct": False},
    "tied, projected, direct": {"tie": True},
}


def _variant(name, vocab=7, context=3, d_emb=3, d_hidden=4):
    options = {"d_hidden": d_hidden, **VARIANTS[name]}
    return NPLM(vocab, context, d_emb, rng=PCG32(5), **options)


# ---- worked examples ----


def test_three_letters_forward():
    model = letters()
    np.testing.assert_allclose(model([[0, 2]]).detach(), [[1.761594, 0.5, -1.761594]], atol=5e-7)
    np.testing.assert_allclose(model([[2, 0]]).detach(), [[-1.761594, 0.5, 1.761594]], atol=5e-7)
    np.testing.assert_allclose(np.exp(model.log_probs([[0, 2]])), [[0.761784, 0.215739, 0.022477]], atol=5e-7)
    np.testing.assert_allclose(letters(direct=False)([[0, 2]]).detach(), [[0.761594, 0.5, -0.761594]], atol=5e-7)


def test_three_letters_backward():
    model = letters()
    loss = model.loss([[0, 2]], [0])
    loss.sum().backward()
    assert loss.item() == pytest.approx(0.272092, abs=5e-7)
    np.testing.assert_allclose(model.out.bias.grad, [-0.238216, 0.215739, 0.022477], atol=5e-7)
    assert model.hidden.bias.grad.item() == pytest.approx(-0.109484, abs=5e-7)  # −0.260692 · 0.419974
    np.testing.assert_allclose(model.hidden.weight.grad, [[-0.109484, 0.109484]], atol=5e-7)
    assert model.emb.weight.grad[1].item() == 0.0  # b is not in the window


def test_five_words_forward():
    model = sentence()
    a = model.features([[0, 1]]).detach()
    np.testing.assert_allclose(a, [[0.6640, 0.2913]], atol=5e-5)
    np.testing.assert_allclose(model([[0, 1]]).detach(), [[-0.2074, -0.1619, -0.1247, 1.1388, 0.7606]], atol=5e-5)
    p = np.exp(model.log_probs([[0, 1], [0, 2], [1, 0]]))
    np.testing.assert_allclose(p[0], [0.1041, 0.1089, 0.1131, 0.4000, 0.2740], atol=5e-5)
    np.testing.assert_allclose(p[1:, 3], [0.395, 0.324], atol=5e-4)


def test_five_words_update():
    model = sentence()
    model.loss([[0, 1]], [3]).sum().backward()
    with torch.no_grad():
        for p in model.parameters():
            p.sub_(0.2 * p.grad)
    np.testing.assert_allclose(model.emb.weight[0].detach(), [0.2193, -0.0976], atol=5e-5)
    np.testing.assert_allclose(model.emb.weight[1].detach(), [0.8480, 0.4265], atol=5e-5)
    assert model.emb.weight[2:4].tolist() == torch.tensor([[0.7, 0.5], [-0.3, 0.9]]).tolist()
    assert model.out.bias[3].item() == pytest.approx(0.4200, abs=5e-5)
    assert math.exp(-model.context_nll([[0, 1]], [3])[0]) == pytest.approx(0.4811, abs=5e-5)


# ---- parameters ----


@pytest.mark.parametrize(
    ("V", "c", "m", "h", "direct", "layers", "total"),
    [
        (16383, 4, 30, 100, False, (491_490, 12_100, 1_654_683), 2_158_273),
        (20_000, 3, 50, 200, False, (1_000_000, 30_200, 4_020_000), 5_050_200),
        (500, 4, 30, 100, True, (15_000, 12_100, 50_500), nplm_params(500, 30, 5, 100, True)),
    ],
)
def test_parameters_are_counted(V, c, m, h, direct, layers, total):
    model = NPLM(V, c, m, h, direct)
    sizes = [sum(p.numel() for p in getattr(model, name).parameters()) for name in ("emb", "hidden", "out")]
    assert tuple(sizes) == layers
    assert sum(p.numel() for p in model.parameters()) == total


def test_state_dict_names_and_shapes_in_order():
    shapes = {name: tuple(p.shape) for name, p in NPLM(7, 3, 2, 4).state_dict().items()}
    assert list(shapes.items()) == [
        ("emb.weight", (7, 2)),
        ("hidden.weight", (4, 6)),
        ("hidden.bias", (4,)),
        ("out.weight", (7, 4)),
        ("out.bias", (7,)),
        ("direct.weight", (7, 6)),
    ]
    assert all(p.dtype == torch.float32 for p in NPLM(7, 3, 2, 4).parameters())
    assert "direct.weight" not in NPLM(7, 3, 2, 4, False).state_dict()
    assert list(NPLM(7, 3, 2, []).state_dict()) == ["emb.weight", "out.bias", "direct.weight"]
    assert list(NPLM(7, 3, 2, [4, 5], False).state_dict())[1:5] == [
        "hidden.weight",
        "hidden.bias",
        "hidden2.weight",
        "hidden2.bias",
    ]
    tied = NPLM(7, 3, 2, 4, tie=True).state_dict()
    assert "out.weight" not in tied
    assert tied["project.weight"].shape == (2, 4)
    assert "project.weight" not in NPLM(7, 3, 4, 4, tie=True).state_dict()


def test_load_state_dict_is_strict_and_takes_lists():
    model = NPLM(3, 2, 1, 1)
    model.load_state_dict(LETTERS)
    assert model.direct.weight.tolist() == LETTERS["direct.weight"]
    with pytest.raises(RuntimeError, match="direct"):
        model.load_state_dict({name: rows for name, rows in LETTERS.items() if name != "direct.weight"})


def test_decay_falls_on_every_matrix_and_on_no_bias():
    model = NPLM(7, 3, 2, [4, 3], tie=True)
    names = {id(p): name for name, p in model.named_parameters()}
    decayed, free = ([names[id(p)] for p in group["params"]] for group in model.param_groups(0.1))
    assert [group["weight_decay"] for group in model.param_groups(0.1)] == [0.1, 0.0]
    assert decayed == ["emb.weight", "hidden.weight", "hidden2.weight", "direct.weight", "project.weight"]
    assert free == ["hidden.bias", "hidden2.bias", "out.bias"]


@pytest.mark.parametrize("name", VARIANTS)
def test_state_and_config_make_the_same_model_again(name):
    model = noisy(_variant(name)).float()
    again = NPLM.from_state(model.config(), model.state())
    contexts = [[0, 1, 2], [6, 6, 3]]
    assert torch.equal(model(contexts), again(contexts))
    assert again.config() == model.config()
    assert set(model.contract_config()) == {
        "tl_arch", "vocab_size", "tl_context", "tl_d_emb", "hidden_size", "tl_direct",
    }  # fmt: skip


def test_contract_config_holds_the_sizes():
    assert NPLM(7, 3, 2, [4, 5], False).contract_config() == {
        "tl_arch": "nplm",
        "vocab_size": 7,
        "tl_context": 3,
        "tl_d_emb": 2,
        "hidden_size": [4, 5],
        "tl_direct": False,
    }
    assert NPLM(7, 3, 2, [4]).contract_config()["hidden_size"] == 4
    assert NPLM(7, 3, 2, []).contract_config()["hidden_size"] == 0


# ---- gradients ----


@pytest.mark.parametrize("direct", [False, True])
def test_loss_and_gradients_equal_the_reference(direct):
    model = noisy(NPLM(11, 3, 4, 6, direct))
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 9, (40, 3)), rng.integers(0, 11, 40)  # ids repeat; 9 and 10 are in no window
    W = {name: p.detach().numpy() for name, p in model.named_parameters()}
    P = {"E": W["emb.weight"], "W1": W["hidden.weight"].T, "b1": W["hidden.bias"], "W2": W["out.weight"].T}
    P |= {"b2": W["out.bias"], "W3": W["direct.weight"].T if direct else None}
    expected, logits = nplm_loss(P, X, Y)
    loss = model.loss(X, Y).mean()
    loss.backward()
    assert loss.item() == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(model(X).detach(), logits, atol=1e-12)
    names = {"E": "emb.weight", "W1": "hidden.weight", "b1": "hidden.bias", "W2": "out.weight", "b2": "out.bias"}
    grads = dict(model.named_parameters())
    for name, grad in nplm_grads(P, X, Y).items():
        ours = grads[names.get(name, "direct.weight")].grad.numpy()
        np.testing.assert_allclose(ours.T if name.startswith("W") else ours, grad, atol=1e-12, err_msg=name)
    assert not model.emb.weight.grad[9:].any()


@pytest.mark.parametrize("name", VARIANTS)
def test_gradients_equal_differences_in_every_parameter(name):
    model = noisy(_variant(name))
    contexts, targets = [[1, 1, 2], [4, 1, 0], [6, 5, 6]], [2, 1, 1]
    model.loss(contexts, targets).mean().backward()
    for key, p in model.named_parameters():
        expected = differences(lambda: float(model.context_nll(contexts, targets).mean()), p)
        np.testing.assert_allclose(p.grad, expected, atol=2e-8, err_msg=key)


def test_gradients_are_per_example_and_add_up():
    model = noisy(_variant("direct"))
    contexts, targets = np.array([[1, 1, 2], [4, 1, 0], [6, 5, 6]]), np.array([2, 1, 1])
    weights = torch.tensor([0.5, 2.0, -1.0], dtype=torch.float64)
    (model.loss(contexts, targets) * weights).sum().backward()
    together = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    for i in range(3):
        (model.loss(contexts[i : i + 1], targets[i : i + 1]).sum() * weights[i]).backward()
    for name, p in model.named_parameters():
        np.testing.assert_allclose(p.grad, together[name], atol=1e-12, err_msg=name)


# ---- properties of the equation ----


@pytest.mark.parametrize(("direct", "bound"), [(False, 3 + 2), (True, 3 + 4 + 2)])
def test_log_probabilities_have_the_rank_of_the_features(direct, bound):
    model = noisy(NPLM(40, 2, 2, 3, direct))
    contexts = np.stack(np.meshgrid(np.arange(40), np.arange(40)), -1).reshape(-1, 2)[:900]
    values = np.linalg.svd(model.log_probs(contexts), compute_uv=False)
    assert values[bound - 1] > 1e-6 * values[0]
    assert values[bound] < 1e-12 * values[0]


def test_the_oldest_token_comes_first():
    model = noisy(_variant("direct"))
    C = model.emb.weight.detach()
    x = torch.cat([C[4], C[0], C[6]])
    a = torch.tanh(model.hidden.bias + model.hidden.weight @ x)
    y = model.out.bias + model.direct.weight @ x + model.out.weight @ a
    np.testing.assert_allclose(model([[4, 0, 6]])[0].detach(), y.detach(), atol=1e-12)
    np.testing.assert_allclose(model.features([[4, 0, 6]])[0].detach(), torch.cat([a, x]).detach(), atol=1e-12)


def test_tied_vectors_are_the_rows_of_C():
    model = noisy(NPLM(7, 2, 3, 5, False, tie=True))
    x = model.emb.weight[[1, 2]].flatten()
    a = torch.tanh(model.hidden.bias + model.hidden.weight @ x)
    y = model.out.bias + model.emb.weight @ (model.project.weight @ a)
    np.testing.assert_allclose(model([[1, 2]])[0].detach(), y.detach(), atol=1e-12)


def test_two_linear_layers_are_one():
    """Without the nonlinearity the hidden layer adds nothing: y is linear in x."""
    model = noisy(NPLM(7, 1, 3, 5, False, activation="identity"))
    matrix = model.out.weight @ model.hidden.weight
    offset = model.out.bias + model.out.weight @ model.hidden.bias
    np.testing.assert_allclose(model([[4]])[0].detach(), (offset + matrix @ model.emb.weight[4]).detach(), atol=1e-12)


# ---- copies and checks ----


def test_a_copy_trains_apart_from_its_original():
    model = NPLM(7, 3, 3, 3, tie=True)
    twin = copy.deepcopy(model)
    twin.loss([[1, 2, 3]], [4]).sum().backward()
    assert model.emb.weight.grad is None
    assert twin.emb.weight.grad[4].any()
    with torch.no_grad():
        twin.emb.weight.zero_()
        twin.direct.weight.zero_()
    assert not twin([[1, 2, 3]]).any()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 2, 1, 1), "vocab 0: expected a whole number of at least 1"),
        ((3, 0, 1, 1), "context 0"),
        ((3, 2, -1, 1), "d_emb -1"),
        ((3, 2, 1, -1), "d_hidden -1: expected a whole number of at least 1"),
        ((3, 2, 1, [2, 0]), "d_hidden 0"),
        ((3, 2, 1, 0), r"d_hidden 0: expected a whole number of at least 1 \(\[\] for none"),
        ((3, 2, 1, np.int64(0)), "expected a whole number of at least 1"),
        ((3, 2, 1.5, 1), "d_emb 1.5"),
        ((3, 2, 1, True), "d_hidden True"),
        ((3, 2, 1, [], False), "without the direct path"),
    ],
)
def test_sizes_are_checked(arguments, said):
    with pytest.raises(InputError, match=said):
        NPLM(*arguments)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"activation": "gelu"}, "activation 'gelu': expected one of tanh, relu, sigmoid, identity"),
        ({"dropout": 1.0}, "dropout 1.0: expected at least 0 and below 1"),
        ({"dropout_input": float("nan")}, "dropout_input nan"),
        ({"head": "magic"}, "head 'magic': expected one of softmax"),
        ({"head_options": {"k": 3}}, "head option"),
        ({"d_hidden": [], "tie": True}, "tied output vectors without a hidden layer"),
    ],
)
def test_options_are_checked(options, said):
    with pytest.raises(InputError, match=said):
        NPLM(**{"vocab": 3, "context": 2, "d_emb": 1, "d_hidden": 1, **options})
