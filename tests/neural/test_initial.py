"""Initial weights: a first loss of log V, no saturated unit, one stream, quickly."""

import math
import time

import numpy as np
import pytest
import torch

from neuralgram import NPLM, PCG32


@pytest.mark.parametrize("V", [16, 26, 3000])
@pytest.mark.parametrize(
    "options", [{}, {"d_hidden": []}, {"tie": True}, {"tie": True, "d_emb": 60}, {"d_hidden": [60, 60]}]
)
def test_first_loss_is_log_V(V, options):
    ids = np.random.default_rng(0).integers(0, V, 2000)
    model = NPLM(V, **{"context": 4, "d_emb": 30, "d_hidden": 60, **options})
    loss = model.nll(ids).mean()
    assert loss == pytest.approx(math.log(V), abs=0.03)


@pytest.mark.parametrize("options", [{}, {"tie": True, "d_emb": 200}, {"activation": "relu"}, {"d_hidden": [200, 200]}])
def test_no_hidden_unit_is_saturated_at_the_start(options):
    model = NPLM(500, **{"context": 5, "d_emb": 60, "d_hidden": 200, "direct": False, **options})
    a = model.features(np.random.default_rng(0).integers(0, 500, (400, 5)))
    assert a.std() > 0.02
    if model.settings.activation == "tanh" and not hasattr(model, "project"):
        assert (a.abs() > 0.97).float().mean() < 0.001
        assert 0.3 < a.std() < 0.6


def test_one_stream_draws_the_layers_in_order():
    model = NPLM(7, 3, 2, 4, rng=PCG32(9))
    draws = np.array([rng.uniform() for rng in [PCG32(9)] for _ in range(14 + 24 + 28 + 42)])
    weights = np.concatenate([array.ravel() for name, array in model.state().items() if not name.endswith("bias")])
    bounds = np.repeat([1.0, 1 / math.sqrt(2), 0.1 * math.sqrt(3 / 4), 0.1 * math.sqrt(3 / 6)], [14, 24, 28, 42])
    np.testing.assert_allclose(weights, (2 * draws - 1) * bounds, atol=1e-6)
    for name, p in model.named_parameters():
        assert name.endswith("bias") == (not p.any())


def test_default_models_are_equal_and_layers_differ():
    one, two = NPLM(40, 3, 5, 15), NPLM(40, 3, 5, 15)
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), two.parameters(), strict=True))
    assert not torch.equal(one.emb.weight, NPLM(40, 3, 5, 15, rng=PCG32(1)).emb.weight)
    starts = [
        p.detach().flatten()[:75] / p.abs().max() for name, p in one.named_parameters() if not name.endswith("bias")
    ]
    table = torch.corrcoef(torch.stack(starts)) - torch.eye(len(starts))
    assert table.abs().max() < 0.4


def test_ten_million_weights_are_drawn_in_a_second():
    times = []
    for _ in range(2):
        start = time.process_time()
        model = NPLM(20_000, 5, 100, 400, False)
        times.append(time.process_time() - start)
    assert sum(p.numel() for p in model.parameters()) > 10_000_000
    assert min(times) < 1.0
