"""Which windows an update sees: permutations by epoch, and a function of (seed, step) alone."""

from __future__ import annotations

import numpy as np
import pytest

from neuralgram.errors import InputError
from neuralgram.text.shuffle import mix
from neuralgram.text.windows import Corpus
from neuralgram.training.batches import Batches, _mix, step_seed

# Every token of this text is different, so a target names its window.
STREAM = Corpus(np.arange(1000), 1000)


def targets(batches: Batches, steps: range) -> np.ndarray:
    return np.concatenate([batches.batch(step)[1].numpy() for step in steps])


def test_an_epoch_visits_every_window_once_and_drops_the_last_partial_batch() -> None:
    batches = Batches(STREAM.windows(3), 30, seed=5)
    assert batches.per_epoch == 33  # 997 windows: 33 batches of 30, 7 windows left out
    epochs = [targets(batches, range(33 * e, 33 * e + 33)) for e in range(3)]
    for seen in epochs:
        assert len(seen) == len(set(seen)) == 990
        assert set(seen) <= set(range(3, 1000))
    assert not np.array_equal(epochs[0], epochs[1])
    left_out = [set(range(3, 1000)) - set(seen) for seen in epochs]
    assert left_out[0] != left_out[1]  # not the same windows every time


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    forwards = Batches(STREAM.windows(3), 30, seed=5)
    in_order = [forwards.batch(step) for step in range(80)]
    for step in (79, 33, 0, 66, 32):
        contexts, target = Batches(STREAM.windows(3), 30, seed=5).batch(step)
        np.testing.assert_array_equal(contexts, in_order[step][0])
        np.testing.assert_array_equal(target, in_order[step][1])
        np.testing.assert_array_equal(contexts[:, -1], target - 1)  # the window is the one before its target
    assert not np.array_equal(Batches(STREAM.windows(3), 30, seed=6).batch(0)[1], in_order[0][1])


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("world", [2, 3])
def test_workers_read_stretches_of_the_batch_that_one_alone_reads(world: int, rate: float) -> None:
    ids = np.append(np.arange(1, 900) % 90, 99)
    windows = Corpus(ids, 100, boundary=99).windows(3)
    alone = Batches(windows, 30, seed=5, boundary_rate=rate)
    workers = [Batches(windows, 30, seed=5, rank=rank, world=world, boundary_rate=rate) for rank in range(world)]
    assert {worker.per_epoch for worker in workers} == {alone.per_epoch}
    for step in (0, 1, 29, 30, 31, 95):
        parts = [worker.batch(step) for worker in workers]
        for whole, shares in zip(alone.batch(step), zip(*parts, strict=True), strict=True):
            np.testing.assert_array_equal(np.concatenate(shares), whole)
            assert {len(share) for share in shares} == {30 // world}


@pytest.mark.parametrize(
    ("rank", "world", "message"),
    [
        (2, 2, "rank 2 of 2 workers: expected 0 … 1"),
        (0, 0, "rank 0 of 0 workers"),
        (0, 4, "batch size 30 for 4 workers: expected a multiple of 4"),
    ],
)
def test_workers_that_cannot_share_a_batch_are_refused(rank: int, world: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Batches(STREAM.windows(3), 30, seed=5, rank=rank, world=world)


def test_boundary_noise_hides_oldest_tokens_of_some_windows() -> None:
    ids = np.append(np.arange(1, 60_001) % 90, 99)
    corpus = Corpus(ids, 100, boundary=99)
    plain = Batches(corpus.windows(4), 500, seed=3)
    noisy = Batches(corpus.windows(4), 500, seed=3, boundary_rate=0.05)
    hidden = []
    for step in range(plain.per_epoch):
        (before, target), (after, same) = plain.batch(step), noisy.batch(step)
        np.testing.assert_array_equal(target, same)
        lengths = ((after == 99) & (before != 99)).sum(1).numpy()
        for row in np.flatnonzero(lengths):
            k = int((after[row] == 99).sum())
            assert (after[row, :k] == 99).all()  # the oldest, and only they
            np.testing.assert_array_equal(after[row, k:], before[row, k:])
        hidden.append(lengths)
    counts = np.bincount(np.concatenate(hidden), minlength=5)
    assert abs(counts[1:].sum() / 60_001 - 0.05) < 0.004
    assert (abs(counts[1:] / counts[1:].sum() - 0.25) < 0.04).all()  # 1 … c tokens, equally often
    again = Batches(corpus.windows(4), 500, seed=3, boundary_rate=0.05).batch(77)[0]
    np.testing.assert_array_equal(again, noisy.batch(77)[0])
    assert not np.array_equal(noisy.batch(0)[0] == 99, noisy.batch(plain.per_epoch)[0] == 99)


def test_the_mixing_function_is_splitmix64() -> None:
    numbers = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    np.testing.assert_array_equal(_mix(numbers), np.array([mix(int(n)) for n in numbers], np.uint64))
    assert mix(0) == 0xE220A8397B1DCDAF  # SplitMix64 seeded with 0, first output
    assert len({step_seed(seed, step) for seed in range(30) for step in range(30)}) == 900


@pytest.mark.parametrize(
    ("batch_size", "rate", "message"),
    [
        (998, 0.0, "997 windows of 3 \\+ 1 tokens: expected at least one batch, 998"),
        (0, 0.0, "batch size 0: expected at least 1"),
        (10, 0.1, "boundary rate 0.1: a stream has no boundary"),
    ],
)
def test_refusals(batch_size: int, rate: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Batches(STREAM.windows(3), batch_size, seed=0, boundary_rate=rate)
