"""Pretrained vectors: rows put in, trained on or frozen."""

import numpy as np
import pytest
import torch

from neuralgram import NPLM, InputError
from neuralgram.neural.initial import set_rows


def test_rows_are_set_and_the_others_stay():
    model = NPLM(5, 2, 3, 4)
    before = model.emb.weight.detach().clone()
    set_rows(model.emb.weight, [3, 0], [[1, 2, 3], [4, 5, 6]])
    assert model.emb.weight[3].tolist() == [1, 2, 3]
    assert model.emb.weight[0].tolist() == [4, 5, 6]
    assert torch.equal(model.emb.weight[[1, 2, 4]], before[[1, 2, 4]])
    model.loss([[3, 0]], [1]).sum().backward()
    assert model.emb.weight.grad[3].any()


def test_frozen_vectors_take_no_part_in_training():
    model = NPLM(5, 2, 3, 4)
    set_rows(model.emb.weight, [3], [[1, 2, 3]], freeze=True)
    model.loss([[3, 0]], [1]).sum().backward()
    assert model.emb.weight.grad is None
    assert model.hidden.weight.grad.any()
    assert not any(p is model.emb.weight for group in model.param_groups(0.1) for p in group["params"])


@pytest.mark.parametrize(
    ("ids", "vectors", "said"),
    [
        ([5], [[1, 2, 3]], "id 5 is outside"),
        ([1], [[1, 2]], r"vectors of shape \[1, 2\] for 1 rows: expected \[1, 3\]"),
        ([1, 2], [[1, 2, 3]], r"expected \[2, 3\]"),
        ([1, 1], np.ones((2, 3)), "1 of them given twice"),
        ([1], [[1, 2, float("nan")]], "not a number"),
    ],
)
def test_what_does_not_fit_is_refused(ids, vectors, said):
    with pytest.raises(InputError, match=said):
        set_rows(NPLM(5, 2, 3, 4).emb.weight, ids, vectors)
