"""Label smoothing against PyTorch's own, and where it is refused."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from neuralgram.errors import InputError
from neuralgram.neural.nplm import NPLM
from neuralgram.neural.rows import row_gradients
from tests.neural.examples import noisy

V, C, B = 9, 3, 12


def net(head, smoothing, **options):
    return noisy(NPLM(V, C, 4, 5, head=head, head_options={"smoothing": smoothing, **options}))


def batch():
    random = np.random.default_rng(3)
    return torch.from_numpy(random.integers(0, V, (B, C))), torch.from_numpy(random.integers(0, V, B))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_the_smoothed_loss_and_its_gradients_are_pytorchs(smoothing):
    ours, plain = net("softmax", smoothing), net("softmax", 0.0)
    contexts, targets = batch()
    loss = ours.loss(contexts, targets)
    expected = F.cross_entropy(plain(contexts), targets, reduction="none", label_smoothing=smoothing)
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-12)
    loss.sum().backward()
    expected.sum().backward()
    for mine, theirs in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=0, atol=1e-12)


def test_sampling_estimates_the_smoothed_loss():
    """With very many noise words the estimate is the cross-entropy itself."""
    ours, plain = net("sampled", 0.2, samples=400_000, power=0), net("softmax", 0.0)
    contexts, targets = batch()
    loss = ours.loss(contexts, targets, torch.Generator().manual_seed(0))
    expected = F.cross_entropy(plain(contexts), targets, reduction="none", label_smoothing=0.2)
    torch.testing.assert_close(loss, expected, rtol=0, atol=0.02)


def test_evaluation_is_not_smoothed():
    contexts, targets = batch()
    np.testing.assert_array_equal(
        net("softmax", 0.5).context_nll(contexts, targets), net("softmax", 0.0).context_nll(contexts, targets)
    )


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, "some", True])
@pytest.mark.parametrize("head", ["softmax", "sampled"])
def test_a_share_that_is_none_is_refused(head, smoothing):
    with pytest.raises(InputError, match=r"smoothing .*: expected the share of a target"):
        NPLM(V, C, 4, 5, head=head, head_options={"smoothing": smoothing})


def test_other_heads_and_sparse_steps_have_no_smoothing():
    with pytest.raises(InputError, match="head option smoothing: the nce head has samples, power"):
        NPLM(V, C, 4, 5, head="nce", head_options={"smoothing": 0.1})
    model, (contexts, targets) = net("sampled", 0.1), batch()
    with row_gradients(lambda table, rows: None), pytest.raises(InputError, match="expected adamw or sgd"):
        model.loss(contexts, targets, torch.Generator())
