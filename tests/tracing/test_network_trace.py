"""A trace is held against `forward` and autograd of the model it explains, and against the published figures."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from neuralgram import NPLM, PCG32, InputError  # noqa: E402  # after the skip
from neuralgram.tracing import trace  # noqa: E402
from tests.tracing.scattered import scattered  # noqa: E402

V, C, M = 11, 3, 4
MODELS = {
    "plain": {"d_hidden": 5, "direct": False},
    "direct": {"d_hidden": 5},
    "relu": {"d_hidden": 7, "activation": "relu"},
    "sigmoid": {"d_hidden": 7, "activation": "sigmoid"},
    "identity": {"d_hidden": 7, "activation": "identity"},
    "deep": {"d_hidden": [6, 5, 3]},
    "deep relu": {"d_hidden": [6, 5], "activation": "relu", "direct": False},
    "tied": {"d_hidden": M, "tie": True, "direct": False},
    "tied direct": {"d_hidden": M, "tie": True},
    "projected": {"d_hidden": [6, 5], "tie": True},
    "no hidden": {"d_hidden": []},
}
CONTEXT, TARGET = [2, 7, 2], 9  # a repeated word


def network(name: str, dtype: object = torch.float64) -> NPLM:
    return scattered(NPLM(V, C, M, rng=PCG32(3), **MODELS[name]).to(dtype))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_equals_forward_and_autograd(name: str, dtype: object, tolerance: float) -> None:
    model = network(name, dtype)
    made = trace(model, CONTEXT, target=TARGET)
    y = model(np.array([CONTEXT]))
    np.testing.assert_allclose(made.step("y").value, y[0].detach().numpy(), atol=4 * tolerance, rtol=tolerance)
    loss = torch.nn.functional.cross_entropy(y, torch.tensor([TARGET]))
    loss.backward()
    assert made.update.loss == pytest.approx(loss.item(), abs=4 * tolerance)
    assert list(made.update.gradients) == list(model.state())
    for key, parameter in model.named_parameters():
        np.testing.assert_allclose(
            made.gradient(key), parameter.grad.numpy(), atol=4 * tolerance, rtol=4 * tolerance, err_msg=key
        )


@pytest.mark.parametrize("name", MODELS)
def test_one_step_equals_torch_sgd(name: str) -> None:
    model = network(name)
    made = trace(model, CONTEXT, target=TARGET, lr=0.3)
    before = float(np.exp(-model.context_nll([CONTEXT], [TARGET])[0]))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.3)
    model.loss(np.array([CONTEXT]), np.array([TARGET])).sum().backward()
    optimiser.step()
    after = float(np.exp(-model.context_nll([CONTEXT], [TARGET])[0]))
    assert made.update.probability == pytest.approx(before, abs=1e-12)
    assert made.update.probability_after == pytest.approx(after, abs=1e-12)
    for key, array in model.state().items():
        np.testing.assert_allclose(made.update.after[key], array, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", MODELS)
def test_every_gradient_by_finite_differences(name: str) -> None:
    made = trace(network(name), CONTEXT, target=TARGET)
    draws = PCG32(9)
    places = []
    for key, gradient in made.update.gradients.items():
        for _ in range(4):
            index = [draws.next_uint32() % size for size in gradient.shape]
            places.append(key + "".join(f"[{i}]" for i in index))
    found = made.check(*places)
    assert len(found) == 4 * len(made.update.gradients)
    assert max(difference.error for difference in found) < 1e-8
    assert any(abs(difference.gradient) > 1e-3 for difference in found)


@pytest.mark.parametrize("name", MODELS)
def test_every_number_opens_to_its_formula(name: str) -> None:
    made = trace(network(name), CONTEXT, target=TARGET, lr=0.1)
    opened = 0
    for section in made.all_sections:
        for step in section.steps:
            for index in np.ndindex(step.value.shape):
                formula = step[index]
                assert formula.value == float(step.value[index])
                assert str(formula).startswith(formula.symbol)
                opened += 1
    assert opened > 100


def test_formula_has_its_own_inputs_filled_in() -> None:
    model = five_words()
    made = trace(model, [0, 1], target=3, lr=0.2)
    z = "z[0] = d[0] + Σ_k H[0][k]·x[k] = 0 + 0.5·0.2 + (−0.2)·(−0.1) + 0.8·0.8 + 0.1·0.4 = 0.8"
    assert str(made.formula("z[0]")) == z
    assert str(made.formula("a[0]")) == "a[0] = tanh(z[0]) = tanh(0.8) = 0.664"
    assert str(made.formula("y[3]")) == "y[3] = b[3] + Ua[3] = 0.3 + 0.8388 = 1.1388"
    assert str(made.formula("∂y[3]")) == "∂y[3] = p[3] − e_w[3] = 0.4 − 1 = −0.6"


def five_words() -> NPLM:
    model = NPLM(5, 2, 2, 2, direct=False)
    model.load_state_dict(
        {
            "emb.weight": [[0.2, -0.1], [0.8, 0.4], [0.7, 0.5], [-0.3, 0.9], [-0.4, 1.0]],
            "hidden.weight": [[0.5, -0.2, 0.8, 0.1], [-0.4, 0.6, 0.1, 0.9]],
            "hidden.bias": [0, 0],
            "out.weight": [[-0.4, 0.2], [-0.2, -0.1], [-0.1, -0.2], [1, 0.6], [0.6, 0.9]],
            "out.bias": [0, 0, 0, 0.3, 0.1],
        }
    )
    return model


def test_five_words_published_figures() -> None:
    made = trace(five_words(), [0, 1], target=3, lr=0.2)
    np.testing.assert_allclose(made.step("a").value, [0.6640, 0.2913], atol=5e-5)
    np.testing.assert_allclose(made.step("y").value, [-0.2074, -0.1619, -0.1247, 1.1388, 0.7606], atol=5e-5)
    np.testing.assert_allclose(made.step("p").value, [0.1041, 0.1089, 0.1131, 0.4000, 0.2740], atol=5e-5)
    assert made.update.probability_after == pytest.approx(0.4811, abs=5e-5)
    np.testing.assert_allclose(made.update.after["emb.weight"][0], [0.2193, -0.0976], atol=5e-5)
    np.testing.assert_allclose(made.update.after["emb.weight"][1], [0.8480, 0.4265], atol=5e-5)


def test_saturated_units_are_marked() -> None:
    model = network("plain")
    with torch.no_grad():
        model.hidden.bias.copy_(torch.tensor([9.0, 0.0, -9.0, 0.0, 0.0]))
        model.hidden.weight.mul_(0.1)
    hidden = next(section for section in trace(model, CONTEXT).sections if section.title == "Hidden layer")
    assert {unit for unit, mark in hidden.marks.items() if mark == "saturated"} == {0, 2}


def test_frozen_parameters_stay() -> None:
    model = network("plain")
    model.emb.weight.requires_grad_(False)
    made = trace(model, CONTEXT, target=TARGET, lr=0.5)
    np.testing.assert_array_equal(made.update.after["emb.weight"], model.state()["emb.weight"])
    assert not np.array_equal(made.update.after["out.bias"], model.state()["out.bias"])


def test_rows_not_in_the_window_receive_nothing_and_repeats_add_up() -> None:
    made = trace(network("direct"), CONTEXT, target=TARGET)
    gradient, blocks = made.gradient("C"), made.step("∂x").value.reshape(C, M)
    np.testing.assert_allclose(gradient[2], blocks[0] + blocks[2], atol=1e-15)
    assert np.abs(np.delete(gradient, [2, 7], axis=0)).max() == 0.0


def test_json_is_plain_and_whole() -> None:
    value = json.loads(json.dumps(trace(network("projected"), CONTEXT, target=TARGET, lr=0.1).to_json()))
    assert [place["place"] for place in value["window"]] == ["w(t−3)", "w(t−2)", "w(t−1)"]
    assert sum(outcome["probability"] for outcome in value["top"]) <= 1
    softmax = next(section for section in value["sections"] if section["title"] == "Softmax")
    assert softmax["rows"] == [outcome["symbol"] for outcome in value["top"]]
    assert value["update"]["loss"] == value["target"]["nats"]


def test_terminal_and_notebook() -> None:
    made = trace(network("direct"), CONTEXT, target=TARGET, lr=0.1)
    for width in (60, 80, 120):
        assert max(map(len, made.render(width).splitlines())) <= width
    html = made._repr_html_()
    assert "Softmax" in html
    assert 'title="a[0] = tanh(z[0])' in html


def test_bad_input_is_one_line() -> None:
    model = network("direct")
    cases = [
        ({"context": [1, 2]}, "expected at least 3 ids"),
        ({"context": "abc"}, "reads ids"),
        ({"context": [1, 2, 99]}, "outside the vocabulary"),
        ({"context": CONTEXT, "target": 99}, "outside the vocabulary"),
        ({"context": CONTEXT, "lr": 0.1}, "without a target"),
        ({"context": CONTEXT, "target": 1, "lr": float("nan")}, "learning rate nan"),
        ({"context": CONTEXT, "top": 0}, "at least 1"),
    ]
    for arguments, message in cases:
        with pytest.raises(InputError, match=message):
            trace(model, **arguments)
    made = trace(model, CONTEXT, target=TARGET)
    for place, message in [("H[0]", "shape"), ("Q[0]", "expected one of"), ("H[0][99]", "expected 0"), ("H[", "name")]:
        with pytest.raises(InputError, match=message):
            made.check(place)
    with pytest.raises(InputError, match="no step"):
        made.formula("nothing[0]")
    with pytest.raises(InputError, match="no gradients"):
        trace(model, CONTEXT).gradient("C")
