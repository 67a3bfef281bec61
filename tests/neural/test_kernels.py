"""The blocked kernel against PyTorch's own loss on whole logits, in float64, and what it costs in memory."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from neuralgram.neural import kernels


@pytest.fixture
def always_blocked(monkeypatch):
    monkeypatch.setattr(kernels, "_SMALL_BYTES", 0)


@pytest.fixture(params=["processor", "accelerator"])
def either_way(request, monkeypatch):
    """The pass as the processor makes it, and as it is made where a number read would have to be waited for."""
    if request.param == "accelerator":
        monkeypatch.setattr(kernels, "_waits", lambda device: True)


def _problem(B, V, widths, dtype=torch.float64, seed=0):
    rng = torch.Generator().manual_seed(seed)
    f = torch.randn(B, sum(widths), generator=rng, dtype=dtype)
    parts = [torch.randn(V, width, generator=rng, dtype=dtype) * 0.4 for width in widths]
    bias = torch.randn(V, generator=rng, dtype=dtype)
    y = torch.randint(V, (B,), generator=rng)
    return [t.requires_grad_() for t in (f, bias, *parts)], y


def _whole(tensors, y):
    """The loss as one would write it: all logits at once."""
    f, bias, *parts = tensors
    return F.cross_entropy(F.linear(f, torch.cat(parts, 1), bias), y, reduction="none")


def _ours(tensors, y, precision="fp32"):
    f, bias, *parts = tensors
    return kernels.softmax_loss(f, parts, bias, y, precision)


SHAPES = [
    (1, 2, (1,), 1),
    (5, 3, (2, 1), 2),
    (37, 101, (7,), 5),
    (64, 129, (8, 16), 64),
    (33, 64, (3, 2, 2), 16),
    (9, 1000, (0, 4), 4),
]


@pytest.mark.parametrize(("B", "V", "widths", "rows"), SHAPES)
@pytest.mark.parametrize("upstream", ["uniform", "different"])
def test_loss_and_gradients_equal_the_whole_logits(
    B, V, widths, rows, upstream, monkeypatch, always_blocked, either_way
):
    monkeypatch.setattr(kernels, "block_rows", lambda *_: rows)
    tensors, y = _problem(B, V, widths)
    weights = torch.full((B,), 1 / B).double() if upstream == "uniform" else torch.linspace(-1, 2, B).double()
    expected, ours = _whole(tensors, y), _ours(tensors, y)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
    for grad, reference in zip(
        torch.autograd.grad((ours * weights).sum(), tensors),
        torch.autograd.grad((expected * weights).sum(), tensors),
        strict=True,
    ):
        assert grad.shape == reference.shape
        torch.testing.assert_close(grad, reference, rtol=0, atol=1e-12)


def test_the_short_way_for_small_problems_is_the_same():
    tensors, y = _problem(20, 50, (6, 3))
    loss = _ours(tensors, y)
    torch.testing.assert_close(loss, _whole(tensors, y))
    torch.testing.assert_close(
        torch.autograd.grad(loss.sum(), tensors), torch.autograd.grad(_whole(tensors, y).sum(), tensors)
    )


def test_real_sizes_in_single_precision():
    tensors, y = _problem(300, 5003, (40, 21), torch.float32)
    assert kernels.block_rows(20_000) < 300 or kernels._SMALL_BYTES < 300 * 5003 * 4
    ours = _ours(tensors, y)
    wide = [t.detach().double().requires_grad_() for t in tensors]
    torch.testing.assert_close(ours.double(), _whole(wide, y), rtol=0, atol=1e-5)
    for grad, reference in zip(
        torch.autograd.grad(ours.mean(), tensors), torch.autograd.grad(_whole(wide, y).mean(), wide), strict=True
    ):
        assert (grad - reference).norm() < 1e-6 * reference.norm()


@pytest.mark.parametrize("upstream", ["uniform", "different"])
def test_half_precision_gradients_are_off_by_thousandths(upstream, monkeypatch, either_way):
    monkeypatch.setattr(kernels, "block_rows", lambda *_: 16)
    tensors, y = _problem(100, 300, (20, 11), torch.float32)
    weights = torch.ones(100) if upstream == "uniform" else torch.linspace(0.5, 2, 100)
    ours, expected = _ours(tensors, y, "bf16"), _whole(tensors, y)
    assert ours.dtype == torch.float32
    assert (ours - expected).abs().mean() < 0.02
    for grad, reference in zip(
        torch.autograd.grad((ours * weights).sum(), tensors),
        torch.autograd.grad((expected * weights).sum(), tensors),
        strict=True,
    ):
        assert grad.dtype == torch.float32
        assert 1e-5 < (grad - reference).norm() / reference.norm() < 6e-3


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_probability_that_underflows_still_has_its_loss(precision, always_blocked, either_way):
    f = torch.tensor([[100.0, 0.0], [0.0, 100.0], [1.0, 1.0]], requires_grad=True)
    U = (torch.eye(2) * 3).requires_grad_()
    loss = _ours([f, torch.zeros(2), U], torch.tensor([1, 1, 0]), precision)
    np.testing.assert_allclose(loss.detach(), [300.0, 0.0, np.log(2)], atol=2e-3)
    loss.sum().backward()
    np.testing.assert_allclose(f.grad, [[3, -3], [0, 0], [-1.5, 1.5]], atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("B", "V", "widths", "rows"), SHAPES)
def test_scoring_normalises_in_float64(B, V, widths, rows, dtype, monkeypatch):
    monkeypatch.setattr(kernels, "block_rows", lambda *_: rows)
    (f, bias, *parts), y = _problem(B, V, widths, dtype)
    nll = kernels.softmax_nll(f, parts, bias, y)
    assert nll.dtype == torch.float64
    assert not nll.requires_grad
    wide = [t.detach().double() for t in (f, bias, *parts)]
    torch.testing.assert_close(nll, _whole(wide, y), rtol=0, atol=1e-12 if dtype == torch.float64 else 2e-6)


def test_the_normaliser_is_good_to_a_ten_millionth():
    """Same single-precision logits, normalised by hand in float64."""
    (f, bias, *parts), y = _problem(200, 4999, (30,), torch.float32)
    with torch.no_grad():
        joined = kernels._joined(f, parts, bias)
        logits = (joined[0] @ joined[1].t()).double()
    by_hand = logits.logsumexp(1) - logits.gather(1, y[:, None])[:, 0]
    nll = kernels.softmax_nll(f, parts, bias, y)
    assert (nll - by_hand).abs().mean() < 1e-6  # a product of fewer rows rounds its own way
    highest = logits.amax(1, keepdim=True)
    total = kernels._sum64((logits.float() - highest.float()).exp())
    error = (total.log() + highest[:, 0] - logits.logsumexp(1)).abs()
    assert error.max() < 2e-7
    assert error.mean() < 3e-8


def test_an_empty_batch(monkeypatch):
    tensors, y = _problem(0, 5, (2,))
    for small in (0, 1 << 20):
        monkeypatch.setattr(kernels, "_SMALL_BYTES", small)
        loss = _ours(tensors, y)
        assert loss.shape == (0,)
        assert all(not g.any() for g in torch.autograd.grad(loss.sum(), tensors))
    assert kernels.softmax_nll(tensors[0], tensors[2:], tensors[1], y).shape == (0,)


def test_without_gradients_none_are_made(always_blocked, monkeypatch):
    tensors, y = _problem(9, 5, (2,))
    monkeypatch.setattr(kernels, "_pass", None)  # it would fail if it were called
    with torch.no_grad():
        torch.testing.assert_close(_ours(tensors, y), _whole(tensors, y))
    detached = [t.detach() for t in tensors]
    torch.testing.assert_close(_ours(detached, y), _whole(detached, y))


def test_blocks_fit_the_cache():
    for vocab_size in (2, 100, 16_384, 250_000, 10**6):
        rows = kernels.block_rows(vocab_size)
        assert rows % 32 == 0
        assert 64 <= rows <= 4096
        assert rows == 64 or rows * vocab_size * 4 <= 16 << 20
    assert kernels.block_rows(16_384, 2) <= kernels.block_rows(16_384, 4)


def test_the_logits_of_a_batch_never_exist_at_once(always_blocked, monkeypatch):
    monkeypatch.setattr(kernels, "block_rows", lambda *_: 8)
    seen = []
    mm = torch.mm

    def watched(a, b, **options):
        product = mm(a, b, **options)
        seen.append(product.numel())
        return product

    monkeypatch.setattr(torch, "mm", watched)
    tensors, y = _problem(64, 500, (4,))
    _ours(tensors, y).sum().backward()
    assert max(seen) == 8 * 500
