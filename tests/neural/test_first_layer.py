"""The table of products against the plain first layer: outputs and gradients, and that it is really used."""

import numpy as np
import pytest
import torch

from neuralgram import NPLM
from neuralgram.neural import nplm, rows
from neuralgram.neural.rows import row_gradients
from tests.neural.examples import noisy


def _gradients(model, contexts, targets):
    model.zero_grad()
    model.loss(contexts, targets).mean().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("options", [{}, {"direct": False}, {"d_hidden": [6, 4], "direct": False}, {"tie": True}])
def test_the_table_gives_the_same_layer_and_gradients(options, monkeypatch):
    model = noisy(NPLM(7, 4, 3, **{"d_hidden": 6, **options}))
    rng = np.random.default_rng(0)
    contexts, targets = rng.integers(0, 6, (50, 4)), rng.integers(0, 7, 50)
    monkeypatch.setattr(nplm, "table_pays", lambda *_: False)
    plain, plain_gradients = model(contexts), _gradients(model, contexts, targets)
    monkeypatch.setattr(nplm, "table_pays", lambda *_: True)
    torch.testing.assert_close(model(contexts), plain, rtol=0, atol=1e-12)
    for name, gradient in _gradients(model, contexts, targets).items():
        torch.testing.assert_close(gradient, plain_gradients[name], rtol=0, atol=1e-12, msg=name)
    assert not model.emb.weight.grad[6].any() or model.settings.tie


def test_it_is_chosen_for_many_windows_of_few_symbols():
    C = torch.zeros(27, 64)
    assert rows.table_pays(torch.zeros(227, 16, dtype=torch.int64), C)
    assert not rows.table_pays(torch.zeros(100, 16, dtype=torch.int64), C)
    assert not rows.table_pays(torch.zeros(4096, 4, dtype=torch.int64), torch.zeros(16_383, 64))
    with row_gradients(lambda *_: None):
        assert not rows.table_pays(torch.zeros(227, 16, dtype=torch.int64), C)


def test_dropped_inputs_are_not_read_from_the_table(monkeypatch):
    model = noisy(NPLM(3, 2, 30, 4, False, dropout_input=0.5))
    contexts = np.zeros((100, 2), int)
    assert rows.table_pays(torch.from_numpy(contexts), model.emb.weight)
    f = model.features(contexts, torch.Generator().manual_seed(0))
    assert len(torch.unique(f, dim=0)) > 90  # each window its own mask
    assert len(torch.unique(model.features(contexts), dim=0)) == 1
