"""PCG32 against its published output and against itself, one draw at a time."""

import re
import time

import numpy as np
import pytest

import neuralgram as ng
from neuralgram.rng import STREAMS, generator
from neuralgram.text.shuffle import Permutation
from tests.conftest import ROOT


def test_the_published_generator():
    rng = ng.PCG32(42, stream=54)
    assert [f"{rng.next_uint32():08x}" for _ in range(6)] == [
        "a15c02b7", "7b47f409", "ba1d3330", "83d2f293", "bfa4784b", "cbed606e",
    ]  # fmt: skip
    assert ng.PCG32(42).uniform() == 0xA15C02B7 / 2**32


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 16384, 40001])
def test_a_block_is_its_single_draws(count):
    block, single = ng.PCG32(7, 3), ng.PCG32(7, 3)
    assert block.uint32s(count).tolist() == [single.next_uint32() for _ in range(count)]
    assert block.next_uint32() == single.next_uint32()


def test_ten_million_draws_in_a_second():
    started = time.process_time()
    ng.PCG32(0).uniforms(10_000_000)
    assert time.process_time() - started < 2  # 0.33 s on a quiet core; the bound is what the machine may lose


def test_purposes_do_not_share_a_sequence():
    draws = {purpose: generator(5, purpose).next_uint32() for purpose in STREAMS}
    shared = draws.pop("sampling")  # by the contract of both, PCG32(seed) itself
    assert shared == draws["init"] == ng.PCG32(5).next_uint32()
    assert len(set(draws.values())) == len(draws)


def test_every_purpose_is_drawn_for_and_none_twice_under_one_name():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "neuralgram").rglob("*.py")}
    for purpose in STREAMS:
        drawn = [str(path) for path, text in sources.items() if re.search(rf'generator\([^)]*"{purpose}"\)', text)]
        several = {"init"}  # a network of a job, and one of the explorer
        assert len(drawn) == 1 or purpose in several, (purpose, drawn)


def test_negative_count_is_refused():
    with pytest.raises(ng.InputError, match="-1"):
        ng.PCG32(0).uint32s(-1)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 17, 255, 256, 257, 5000])
def test_a_shuffle_is_a_permutation(n):
    assert sorted(Permutation(n, 9).take(0, n).tolist()) == list(range(n))


def test_a_shuffle_is_computed_in_pieces_and_differs_by_key():
    whole = Permutation(1000, 1).take(0, 1000)
    pieces = [Permutation(1000, 1).take(i, i + 64) for i in range(0, 1000, 64)]
    assert np.array_equal(np.concatenate(pieces), whole)
    assert not np.array_equal(whole, Permutation(1000, 2).take(0, 1000))
    # Uniform enough: the mean place of each of the first 100 is the middle, over many keys (sd of the mean 0.029 · n).
    places = np.mean([np.argsort(Permutation(100, key).take(0, 100)) for key in range(200)], axis=0)
    assert np.abs(places - 49.5).max() < 4.5 * 28.9 / np.sqrt(200)
