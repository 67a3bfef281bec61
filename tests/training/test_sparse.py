"""Row-sparse steps against dense ones written out: decay at every step, repeats summed, in float64."""

import math

import numpy as np
import pytest
import torch

from neuralgram.errors import InputError
from neuralgram.families import OPTIMISERS, member
from neuralgram.neural.rows import row_gradients, take
from neuralgram.training.config import TrainConfig
from neuralgram.training.optimisers import RowOptimizer, clip_gradients, gradient_values

V, M, LR, DECAY = 12, 3, 0.3, 0.05


def optimiser(name, groups, lr=LR):
    return member(OPTIMISERS, name, "optimizer")(groups, TrainConfig(steps=1, lr=lr))


def batches(steps):
    """Rows with repeats; row 11 is never read, row 0 always, others now and then."""
    random = np.random.default_rng(1)
    return [torch.from_numpy(np.append(random.integers(0, V - 1, 5), [0, 0])) for _ in range(steps)]


def loss(table, bias, rows, weights):
    """Not linear in the rows, so that a row read with decay missing would be noticed."""
    return ((take(table, rows) ** 3).sum(1) * weights).sum() + (take(bias, rows).sin() * weights).sum()


def dense(name, table, bias, steps, rates):
    """The same run in NumPy: every row at every step."""
    p, b = table.copy(), bias.copy()
    sums = [np.zeros_like(p), np.zeros_like(b)]
    for rows, lr in zip([batch.numpy() for batch in batches(steps)], rates, strict=True):
        weights = np.arange(1.0, len(rows) + 1)
        g, gb = np.zeros_like(p), np.zeros_like(b)
        np.add.at(g, rows, 3 * p[rows] ** 2 * weights[:, None])
        np.add.at(gb, rows, np.cos(b[rows]) * weights)
        if name == "adagrad":
            sums[0] += g**2
            sums[1] += gb**2
            g, gb = g / (np.sqrt(sums[0]) + 1e-10), gb / (np.sqrt(sums[1]) + 1e-10)
        p = p * (1 - lr * DECAY) - lr * g
        b = b - lr * gb
    return p, b


@pytest.mark.parametrize("name", ["sparse-sgd", "adagrad"])
def test_rows_end_where_dense_steps_with_decay_at_every_step_end(name):
    random = np.random.default_rng(0)
    start = 0.1 * random.standard_normal((V, M)), 0.1 * random.standard_normal(V)
    rates = [LR / 100 / (1 + t) ** 0.5 for t in range(40)]
    table, bias = (torch.nn.Parameter(torch.from_numpy(a.copy())) for a in start)
    steps = optimiser(name, [{"params": [table], "weight_decay": DECAY}, {"params": [bias], "weight_decay": 0.0}])
    for rows, lr in zip(batches(40), rates, strict=True):
        with steps.reading():
            loss(table, bias, rows, torch.arange(1.0, len(rows) + 1)).backward()
        assert table.grad.is_sparse
        assert bias.grad.is_sparse
        for group in steps.param_groups:
            group["lr"] = lr
        steps.step()
        steps.zero_grad()
    unread = table[11].tolist()
    assert unread == start[0][11].tolist()  # nobody read it, so nothing wrote it
    steps.settle()
    expected = dense(name, *start, 40, rates)
    np.testing.assert_allclose(table.detach().numpy(), expected[0], rtol=1e-12)
    np.testing.assert_allclose(bias.detach().numpy(), expected[1], rtol=1e-12)
    np.testing.assert_allclose(table[11].tolist(), start[0][11] * math.prod(1 - lr * DECAY for lr in rates), rtol=1e-12)


def test_dense_gradients_take_the_same_step():
    for name in ("sparse-sgd", "adagrad"):
        start = torch.randn(V, M, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        ends = []
        for sparse in (True, False):
            p = torch.nn.Parameter(start.clone())
            steps = optimiser(name, [{"params": [p], "weight_decay": DECAY}], 0.01)
            for rows in batches(10):
                if sparse:
                    with steps.reading():
                        (take(p, rows) ** 2).sum().backward()
                else:
                    (take(p, rows) ** 2).sum().backward()
                steps.step()
                steps.zero_grad()
            steps.settle()
            ends.append(p.detach().numpy())
        np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)


def test_outside_the_context_gradients_are_dense():
    p = torch.nn.Parameter(torch.ones(4, 2))
    take(p, torch.tensor([[1, 1], [2, 1]])).sum().backward()
    assert p.grad.tolist() == [[0, 0], [3, 3], [1, 1], [0, 0]]
    with row_gradients(lambda *_: None), torch.no_grad():
        assert take(p, torch.tensor([1])).tolist() == [[1, 1]]


def test_the_norm_that_clips_counts_a_repeated_row_once():
    p = torch.nn.Parameter(torch.ones(5, 2))
    with row_gradients(lambda *_: None):
        take(p, torch.tensor([1, 1, 3])).sum().backward()
    values = gradient_values(p)
    clip_gradients([values], 1.0)  # rows (2, 2) and (1, 1): the norm is √10
    np.testing.assert_allclose(p.grad.to_dense()[[1, 3]], np.array([[2, 2], [1, 1]]) / math.sqrt(10), rtol=1e-6)


def test_what_cannot_be_postponed_is_refused():
    p = torch.nn.Parameter(torch.ones(5, 2))
    with pytest.raises(InputError, match=r"momentum 0\.9 with sparse-sgd"):
        member(OPTIMISERS, "sparse-sgd", "optimizer")([{"params": [p]}], TrainConfig(steps=1, lr=0.1, momentum=0.9))
    steps = optimiser("sparse-sgd", [{"params": [p], "weight_decay": 20.0}], 0.1)
    p.grad = torch.ones(5, 2)
    with pytest.raises(InputError, match="expected below 1"):
        steps.step()
    assert isinstance(steps, RowOptimizer)
