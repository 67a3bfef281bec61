"""Dropout happens in the training loss when it is given a generator, and nowhere else."""

import numpy as np
import pytest
import torch

from neuralgram import NPLM


@pytest.mark.parametrize("where", ["dropout", "dropout_input"])
def test_dropout_is_drawn_by_the_loss_alone_whatever_the_mode(where):
    model = NPLM(20, 3, 8, 16, **{where: 0.5})
    contexts, targets = np.arange(60).reshape(20, 3) % 20, np.arange(20)
    exact = model.context_nll(contexts, targets)
    for mode in (True, False):
        model.train(mode)
        np.testing.assert_array_equal(model.context_nll(contexts, targets), exact)
        np.testing.assert_allclose(model.loss(contexts, targets).detach(), exact, atol=1e-5)
        one, two, other = (model.loss(contexts, targets, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
        assert torch.equal(one, two)
        assert not torch.equal(one, other)
        assert not np.allclose(one.detach(), exact, atol=1e-4)


def test_dropout_keeps_the_expected_activation():
    model = NPLM(20, 3, 8, 400, False, dropout=0.25)
    contexts = np.arange(60).reshape(20, 3) % 20
    a = model.features(contexts)
    dropped = torch.stack([model.features(contexts, torch.Generator().manual_seed(s)) for s in range(200)])
    kept = dropped[dropped != 0]
    assert kept.numel() / dropped.numel() == pytest.approx(0.75, abs=0.005)
    np.testing.assert_allclose(dropped[0][dropped[0] != 0].detach(), (a / 0.75)[dropped[0] != 0].detach(), rtol=1e-5)
    assert (dropped.mean(0) - a).abs().mean() < 0.02
