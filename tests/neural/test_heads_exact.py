"""What is special about the tree, the clusters and the mixture: each against its equation or another program."""

import heapq
import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from neuralgram.errors import InputError
from neuralgram.neural.heads.adaptive import default_cutoffs
from neuralgram.neural.heads.tree import huffman, levels
from neuralgram.neural.nplm import NPLM

COUNTS = np.array([40, 1, 1, 7, 3, 3, 19, 0, 26.0])
V = len(COUNTS)


def scattered(net):
    random = torch.Generator().manual_seed(4)
    for p in net.double().parameters():
        p.data.copy_(torch.randn(p.shape, generator=random, dtype=p.dtype) * 0.7)
    return net


# ---- the tree ----


def depths(above):
    """Questions a token, walked one link at a time."""
    size = len(above) // 2 + 1
    found = []
    for token in range(size):
        node, count = size - 1 + token, 0
        while above[node] >= 0:
            node, count = above[node] >> 1, count + 1
        assert node == 0
        found.append(count)
    return np.array(found)


def shortest(weights):
    """Σ weight·depth of Huffman's algorithm with a heap: each merge lengthens every path below it by one."""
    heap = list(weights)
    heapq.heapify(heap)
    total = 0.0
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        total += merged
        heapq.heappush(heap, merged)
    return total


@pytest.mark.parametrize(
    "weights",
    [
        COUNTS,
        np.ones(2),
        np.ones(37),
        1 / np.arange(1.0, 3000),
        2.0 ** np.arange(30),
        np.random.default_rng(0).integers(0, 5, 200).astype(float),
    ],
    ids=["few", "two", "alike", "zipf", "a chain", "ties"],
)
def test_the_tree_is_huffmans(weights):
    above = huffman(weights)
    size = len(weights)
    deep = depths(above)
    assert (weights * deep).sum() == pytest.approx(shortest(weights))
    p = weights[weights > 0] / weights.sum()
    entropy = -(p * np.log2(p)).sum()
    assert entropy <= (p * deep[weights > 0]).sum() < entropy + 1
    assert sum(2.0**-d for d in deep) == pytest.approx(1)  # every node has two children
    assert sorted(above[1:]) == list(range(2 * size - 2))  # each side of each node once
    found = levels(above)
    assert [level.start for level in found] == [0, *(level.stop for level in found[:-1])]
    assert found[-1].stop == size - 1
    depth_of = {0: 0}
    for number in range(1, size - 1):
        depth_of[number] = depth_of[above[number] >> 1] + 1
    for depth, level in enumerate(found):
        assert {depth_of[number] for number in range(level.start, level.stop)} == {depth}


@pytest.mark.parametrize("direct", [True, False])
def test_a_tree_probability_is_the_product_of_its_questions(direct):
    net = scattered(NPLM(V, 2, 3, 4, direct, head="tree", head_counts=COUNTS))
    state, above = net.state(), net.state()["out.above"]
    features = net.features([[3, 6]]).detach().numpy()[0]
    vectors = state["out.weight"]
    if direct:
        vectors = np.concatenate([vectors, state["direct.weight"][: V - 1]], 1)
    for token in range(V):
        p, node = 1.0, V - 1 + token
        while node:
            link, node = above[node], above[node] >> 1
            score = vectors[node] @ features + state["out.bias"][node]
            p *= 1 / (1 + math.exp(-score if link & 1 else score))
        assert math.exp(net.log_probs([[3, 6]])[0, token]) == pytest.approx(p, rel=1e-12)


def test_a_target_touches_only_its_path():
    net = NPLM(V, 2, 3, 4, False, head="tree", head_counts=COUNTS)
    net.loss([[0, 1]], [0]).sum().backward()  # the most frequent token hangs directly under the root
    assert net.out.bias.grad.nonzero()[:, 0].tolist() == [0]
    net.zero_grad()
    net.loss([[0, 1]], [7]).sum().backward()
    assert len(net.out.bias.grad.nonzero()) == depths(net.state()["out.above"])[7]


def test_a_tree_needs_two_symbols():
    with pytest.raises(InputError, match="over 1 symbol"):
        NPLM(1, 1, 2, 3, head="tree")


# ---- the clusters ----


def test_clusters_by_frequency():
    """P = P(frequent or cluster) · P(w | cluster), written out with the ranks of the counts."""
    net = scattered(NPLM(V, 2, 3, 4, True, head="adaptive", head_options={"cutoffs": [2, 5]}, head_counts=COUNTS))
    state = net.state()
    order = [0, 8, 6, 3, 4, 5, 1, 2, 7]  # most frequent first, equally frequent ones by id
    f = net.features([[3, 6]]).detach().numpy()[0]
    y = np.concatenate([state["out.weight"], state["direct.weight"][order]], 1) @ f + state["out.bias"]
    clusters = state["out.cluster_weight"] @ f + state["out.cluster_bias"]
    first = np.exp(np.append(y[:2], clusters))
    first /= first.sum()
    expected = np.empty(V)
    expected[order[:2]] = first[:2]
    for k, (low, high) in enumerate([(2, 5), (5, 9)]):
        expected[order[low:high]] = first[2 + k] * np.exp(y[low:high]) / np.exp(y[low:high]).sum()
    np.testing.assert_allclose(np.exp(net.log_probs([[3, 6]])[0]), expected, rtol=1e-12)


def test_without_clusters_it_is_the_softmax():
    net = scattered(NPLM(V, 2, 3, 4, True, head="adaptive", head_options={"cutoffs": []}))
    plain = NPLM(V, 2, 3, 4, True).double()
    plain.load_state_dict({name: value for name, value in net.state_dict().items() if name != "out.rank"})
    np.testing.assert_allclose(net.log_probs([[1, 2]]), plain.log_probs([[1, 2]]), rtol=1e-12)


def test_one_cutoff_need_not_be_a_list():
    net = NPLM(V, 2, 3, 4, head="adaptive", head_options={"cutoffs": 3}, head_counts=COUNTS)
    assert net.out.clusters == [slice(0, 3), slice(3, V)]
    for wrong in (V, 0, 2.5):
        with pytest.raises(InputError, match="expected rising ranks"):
            NPLM(V, 2, 3, 4, head="adaptive", head_options={"cutoffs": wrong}, head_counts=COUNTS)


def test_default_cutoffs():
    assert default_cutoffs(1) == []
    assert default_cutoffs(8) == [2, 4]
    assert default_cutoffs(17_906) == [1024, 2048, 4096, 8192]
    assert default_cutoffs(100_000) == [1024 * 2**i for i in range(7)]
    for size in range(1, 300):
        edges = [0, *default_cutoffs(size), size]
        assert all(low < high for low, high in pairwise(edges))


def test_cutoffs_are_checked():
    for cutoffs in ([0], [V], [3, 3], [5, 2], [2.5]):
        with pytest.raises(InputError, match="expected rising ranks"):
            NPLM(V, 2, 3, 4, head="adaptive", head_options={"cutoffs": cutoffs})


# ---- the mixture ----


def rank(net, count):
    """The rank of the matrix of log-probabilities over `count` contexts."""
    contexts = np.random.default_rng(0).integers(0, net.vocab_size, (count, net.context))
    values = np.linalg.svd(net.log_probs(contexts), compute_uv=False)
    return int((values > values[0] * 1e-12).sum())


def test_the_mixture_lifts_the_rank_bound():
    """h + 2 for a softmax without W, h + c·m + 2 with it (h = 3, c·m = 4); the mixture has the full rank, V."""
    for direct, bound in ((False, 5), (True, 9)):
        softmax, mixture = (scattered(NPLM(30, 2, 2, 3, direct, head=head)) for head in ("softmax", "mos"))
        assert rank(softmax, 80) == bound
        assert rank(mixture, 80) == 30


def test_a_mixture_is_a_weighted_mean_of_softmaxes():
    net = scattered(NPLM(V, 2, 3, 4, True, head="mos", head_options={"components": 3}))
    s = net.state()
    f = net.features([[3, 6]]).detach().numpy()[0]
    gate = np.exp(s["out.gate_weight"] @ f + s["out.gate_bias"])
    p = np.zeros(V)
    for k in range(3):
        a = np.tanh(s["out.part_weight"][4 * k : 4 * k + 4] @ f[:4] + s["out.part_bias"][4 * k : 4 * k + 4])
        y = np.exp(s["out.weight"] @ a + s["direct.weight"] @ f[4:] + s["out.bias"])
        p += gate[k] / gate.sum() * y / y.sum()
    np.testing.assert_allclose(np.exp(net.log_probs([[3, 6]])[0]), p, rtol=1e-12)


def test_components_are_checked():
    for components in (0, 1.5, True):
        with pytest.raises(InputError, match="expected a whole number of softmaxes"):
            NPLM(V, 2, 3, 4, head="mos", head_options={"components": components})
