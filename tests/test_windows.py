"""Windows of streams and of closed units, against windows written out."""

import numpy as np
import pytest

import neuralgram as ng
from neuralgram import Corpus, InputError
from neuralgram.text.windows import as_ids, smallest_dtype


def test_the_hand_example():
    contexts, targets = ng.windows([5, 6, 7, 8], 2)
    assert contexts.tolist() == [[5, 6], [6, 7]]
    assert targets.tolist() == [7, 8]
    contexts, targets = ng.windows([5, 6, 7, 8], 1)
    assert contexts.tolist() == [[5], [6], [7]]
    assert targets.tolist() == [6, 7, 8]


def test_a_text_shorter_than_the_window_has_none():
    contexts, targets = ng.windows([1, 2], 2)
    assert contexts.shape == (0, 2)
    assert targets.shape == (0,)


@pytest.mark.parametrize("ids", [[1.5, 2.0], [[1, 2], [3, 4]]])
def test_ids_are_one_sequence_of_whole_numbers(ids):
    with pytest.raises(InputError):
        ng.windows(ids, 1)


def test_a_window_of_nothing_is_refused():
    with pytest.raises(InputError, match="context of 0"):
        ng.windows([1, 2, 3], 0)


def by_hand(units, boundary, context):
    """Every token of every unit, and its end, after the c tokens before it in that unit."""
    pairs = []
    for unit in units:
        padded = [boundary] * context + unit + [boundary]
        pairs += [(padded[i - context : i], padded[i]) for i in range(context, len(padded))]
    return pairs


@pytest.mark.parametrize("context", [0, 1, 2, 5])
def test_units_are_closed_and_nothing_before_them_is_read(context):
    units = [[1, 2], [], [3], [], [], [4, 5, 6, 7, 8, 1], [2]]
    ids = [token for unit in units for token in [*unit, 9]]
    windows = Corpus(np.array(ids, np.uint8), 10, boundary=9).windows(context)
    assert len(windows) == len(ids)
    contexts, targets = windows.slice(0, 99)
    assert [(c, t) for c, t in zip(contexts.tolist(), targets.tolist(), strict=True)] == by_hand(units, 9, context)
    some = np.array([3, 0, 7])
    assert windows.gather(some)[0].tolist() == contexts[some].tolist()


def test_a_stream_is_predicted_from_its_first_full_window_or_later():
    corpus = Corpus(np.arange(6, dtype=np.uint16), 6)
    assert corpus.windows(2).slice(0, 9)[1].tolist() == [2, 3, 4, 5]
    contexts, targets = corpus.windows(2, first=4).slice(0, 9)
    assert targets.tolist() == [4, 5]
    assert contexts.tolist() == [[2, 3], [3, 4]]
    with pytest.raises(InputError, match="at least the context, 2"):
        corpus.windows(2, first=1)


@pytest.mark.parametrize(("v", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")])
def test_the_smallest_dtype(v, dtype):
    assert smallest_dtype(v) == np.dtype(dtype)


def test_ids_outside_the_vocabulary_are_named():
    with pytest.raises(InputError, match="id 7 is outside the vocabulary: expected 0 … 6"):
        as_ids([1, 7], 7)
    with pytest.raises(InputError, match="id -1 "):
        as_ids([-1, 2], 7)


def test_ids_from_the_least_allowed_on() -> None:
    assert as_ids([-1, 2], 3, -1).tolist() == [-1, 2]
    with pytest.raises(InputError, match="id -1 is outside"):
        as_ids([-1, 2], 3)
