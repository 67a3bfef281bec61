"""What a program made of the network computes, and that training waits for no accelerator.

Nothing can be read back from the `meta` device, so what runs there asks no number of the device it runs on.
"""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from neuralgram import NPLM, PCG32, Corpus
from neuralgram.errors import InputError
from neuralgram.families import HEADS
from neuralgram.neural import kernels
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer
from tests.neural.examples import noisy

V, C = 13, 3
SHAPES = {
    "direct": {"d_hidden": 6},
    "none": {"d_hidden": 6, "direct": False},
    "no hidden layer": {"d_hidden": []},
    "two layers": {"d_hidden": [6, 5], "activation": "relu"},
    "tied": {"d_hidden": 6, "tie": True},
}
ALL = [(head, shape) for head in HEADS for shape in SHAPES if (head, shape) != ("tree", "tied")]


class Waits(TorchDispatchMode):
    """Counts how often a number is read from a tensor: on an accelerator each is a wait."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


# ---- programs ----


@pytest.mark.parametrize(("head", "shape"), ALL)
def test_forward_is_exported_for_any_number_of_windows(head, shape):
    net = noisy(NPLM(V, C, 4, head=head, head_counts=np.arange(V), **SHAPES[shape])).float()
    example = torch.zeros(5, C, dtype=torch.int64)
    windows = {0: torch.export.Dim("windows", min=1, max=10_000)}
    program = torch.export.export(net, (example,), dynamic_shapes=(windows,)).module()
    for count in (1, 2, 60):
        contexts = torch.randint(V, (count, C), generator=torch.Generator().manual_seed(count))
        torch.testing.assert_close(program(contexts).log_softmax(1).numpy(force=True), log_p(net, contexts))


def log_p(net, contexts):
    return net.log_probs(contexts).astype(np.float32)


def test_a_tree_changed_after_a_program_was_made_is_read_anew():
    net, other = (
        noisy(NPLM(V, C, 4, 6, head="tree", head_counts=counts)) for counts in (np.ones(V), 2.0 ** np.arange(V))
    )
    torch.export.export(net, (torch.zeros(5, C, dtype=torch.int64),))
    net.load_state_dict(other.state_dict())
    np.testing.assert_array_equal(net.log_probs([[1, 2, 3]]), other.log_probs([[1, 2, 3]]))


def test_whoever_calls_the_network_itself_is_still_told_of_wrong_ids():
    net = NPLM(V, C, 4, 6)
    torch.export.export(net, (torch.zeros(5, C, dtype=torch.int64),))
    for wrong in ([[0, 1, V]], np.array([[0, -1, 2]]), torch.tensor([[0, 1, V]]), torch.tensor([[0, 1, V]]).int()):
        for call in (net, net.log_probs, net.features, lambda contexts: net.loss(contexts, [0])):
            with pytest.raises(InputError, match="outside the vocabulary"):
                call(wrong)


# ---- accelerators ----


@pytest.mark.parametrize("options", [{}, {"tie": True, "direct": False}, {"d_hidden": [6, 5]},
                                     {"head_options": {"smoothing": 0.1}}],
                         ids=["softmax", "tied", "two layers", "smoothing"])  # fmt: skip
@pytest.mark.parametrize("vocab_size", [13, 20_000])  # all logits at once, and in blocks
def test_a_step_of_training_asks_nothing_of_its_device(options, vocab_size):
    net = NPLM(vocab_size, C, 4, **{"d_hidden": 6, **options}).to("meta")
    borrowed = net.emb if net.settings.tie else net.direct
    net.out._shared = [borrowed.weight]  # to "meta" a network is made anew, not moved
    contexts = torch.zeros(64, C, dtype=torch.int64, device="meta")
    (net.loss_of(contexts, contexts[:, 0]).sum() / 64).backward()
    assert all(p.grad.shape == p.shape for p in net.parameters())


@pytest.mark.parametrize("vocab_size", [13, 20_000])
def test_an_update_reads_no_number_of_an_accelerator(vocab_size, monkeypatch):
    """On the processor, told that it is one: no number but the loss is read, and that once in many updates."""
    monkeypatch.setattr(kernels, "_waits", lambda device: True)
    config = TrainConfig(steps=2, batch_size=64, lr=0.1, optimizer="sgd", clip=1.0)
    net = NPLM(vocab_size, C, 4, 6, rng=PCG32(0))
    trainer = Trainer(net, Corpus(np.arange(500) % vocab_size, vocab_size).windows(C), config, 2)
    with Waits() as waits:
        trainer.update()
    assert waits.count == 0
    with Waits() as waits:
        net.loss([[0, 1, 2]], torch.tensor([3]))
    assert waits.count > 0  # ids from anybody are looked at


def test_a_corpus_is_looked_through_once_before_the_first_update():
    corpus = Corpus(np.append(np.zeros(400, int), V), V + 1)
    with pytest.raises(InputError, match=f"id {V} is outside the vocabulary"):
        Trainer(NPLM(V, C, 4, 6), corpus.windows(C), TrainConfig(steps=1, batch_size=8, lr=0.1), 1)
