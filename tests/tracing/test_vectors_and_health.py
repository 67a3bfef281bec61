"""Neighbours against the definition; health against the network's own forward pass and autograd."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from neuralgram import NPLM, PCG32, Corpus, InputError  # noqa: E402  # after the skip
from neuralgram.tracing import health, neighbors  # noqa: E402
from neuralgram.tracing.network_health import log_prob_rank  # noqa: E402

V = 30
CORPUS = Corpus(np.array(PCG32(8).uint32s(600) % V, np.int64), V)


def network(d_hidden: object = 5, **options: object) -> NPLM:
    model = NPLM(V, 2, 3, d_hidden, rng=PCG32(1), **options).double()
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            draws = torch.from_numpy(PCG32(40 + i).uniforms(parameter.numel())).reshape(parameter.shape)
            parameter.copy_(2 * draws - 1)
    return model


def test_neighbors_by_definition() -> None:
    model = network()
    C = model.state()["emb.weight"]
    cosine = [float(C[4] @ C[i] / np.linalg.norm(C[4]) / np.linalg.norm(C[i])) for i in range(V)]
    distance = [float(np.linalg.norm(C[4] - C[i])) for i in range(V)]
    found = neighbors(model, 4, 5)
    assert [n.id for n in found] == [i for i in sorted(range(V), key=lambda i: -cosine[i]) if i != 4][:5]
    assert found[0].value == pytest.approx(cosine[found[0].id])
    near = neighbors(model, 4, 100, "euclidean")
    assert [n.id for n in near] == [i for i in sorted(range(V), key=lambda i: distance[i]) if i != 4]
    assert near[0].value == pytest.approx(distance[near[0].id])


def test_neighbors_refuse_what_cannot_be() -> None:
    from neuralgram.ngram import fit

    for word, options, message in [
        (99, {}, "expected an id"),
        ("cat", {}, "expected an id"),
        (1, {"k": 0}, "k = 0"),
        (1, {"metric": "angle"}, "expected one of cosine"),
    ]:
        with pytest.raises(InputError, match=message):
            neighbors(network(), word, **options)
    with pytest.raises(InputError, match="no vectors"):
        neighbors(fit("mle", CORPUS, 2), 1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"direct": False},
        {"d_hidden": [4, 6]},
        {"tie": True, "d_hidden": 6},
        {"d_hidden": []},
        {"activation": "relu"},
    ],
)
def test_health_equals_forward_and_autograd(options: dict[str, object]) -> None:
    model = network(**options)
    found = health(model, CORPUS, windows=10_000, lr=0.2)
    contexts, targets = CORPUS.windows(2).slice(0, 10_000)
    assert found.windows == len(targets)
    assert found.loss == pytest.approx(float(model.context_nll(contexts, targets).mean()), abs=1e-12)
    assert found.log_V == math.log(V)
    torch.nn.functional.cross_entropy(model(contexts), torch.from_numpy(targets)).backward()
    for key, parameter in model.named_parameters():
        shown = next(p for p in found.parameters if p.name == key)
        norm, slope = parameter.detach().norm().item(), parameter.grad.norm().item()
        assert shown.norm == pytest.approx(norm)
        assert shown.gradient_norm == pytest.approx(slope, rel=1e-9)
        assert shown.update_ratio == pytest.approx(0.2 * slope / norm, rel=1e-9)


def test_saturated_and_dead_units() -> None:
    model = network(direct=False)
    with torch.no_grad():
        model.hidden.bias.copy_(torch.tensor([50.0, 0.0, -50.0, 0.0, 0.0]))
        model.hidden.weight.mul_(0.1)
    layer = health(model, CORPUS).layers[0]
    assert layer.dead == (0, 2)
    assert layer.saturated == pytest.approx(2 / 5)
    assert any("2 of 5 units" in warning for warning in health(model, CORPUS).warnings)
    relu = network(direct=False, activation="relu")
    with torch.no_grad():
        relu.hidden.bias.copy_(torch.tensor([-50.0, 50.0, 50.0, 50.0, 50.0]))
    assert health(relu, CORPUS).layers[0].dead == (0,)


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({"direct": False}, 5 + 2),
        ({"direct": True}, 5 + 2 * 3 + 2),
        ({"d_hidden": []}, 2 * 3 + 2),
        ({"d_hidden": [7, 4], "direct": False}, 4 + 2),
    ],
)
def test_rank_meets_its_bound(options: dict[str, object], bound: int) -> None:
    rank = health(network(**options), CORPUS).rank
    assert rank.visible
    assert rank.rank == rank.bound == bound


def test_a_small_matrix_says_nothing_of_the_bound() -> None:
    network_ = network(direct=False).network()
    rank = log_prob_rank(network_, np.array([[0, 1], [2, 3]]))
    assert (rank.rank, rank.visible) == (2, False)


def test_a_first_loss_above_log_V_warns() -> None:
    found = health(network(), CORPUS, first_loss=9.0)
    assert any("first loss" in warning for warning in found.warnings)
    assert "9" in found.render(80)
    assert json.loads(json.dumps(found.to_json()))["first_loss"] == 9.0


def test_health_refuses_what_cannot_be() -> None:
    from neuralgram.ngram import fit

    with pytest.raises(InputError, match="no hidden units"):
        health(fit("mle", CORPUS, 2), CORPUS)
    with pytest.raises(InputError, match="nothing to predict"):
        health(network(), Corpus(np.array([1, 2]), V))
    with pytest.raises(InputError, match="at least 1 window"):
        health(network(), CORPUS, windows=0)
