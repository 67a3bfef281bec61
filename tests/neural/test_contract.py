"""The contract other engines share: scoring, perplexity, generation, and what is refused."""

import math

import numpy as np
import pytest
import torch

from neuralgram import NPLM, PCG32, InputError, Sampling
from tests.neural.examples import letters, noisy, sentence


def _model(vocab=9, context=3):
    return noisy(NPLM(vocab, context, 4, 5)).float()


def _all_zero():
    model = NPLM(6, 2, 3, 4)
    model.load_state_dict({name: torch.zeros_like(p) for name, p in model.state_dict().items()})
    return model


# ---- scoring ----


def test_nll_is_the_cross_entropy_of_each_window():
    model, ids = _model(), np.random.default_rng(2).integers(0, 9, 50)
    losses = model.nll(ids)
    assert losses.dtype == np.float64
    assert losses.shape == (47,)
    logits = model(np.lib.stride_tricks.sliding_window_view(ids[:-1], 3)).double().detach().numpy()
    by_hand = np.log(np.exp(logits).sum(1)) - logits[np.arange(47), ids[3:]]
    np.testing.assert_allclose(losses, by_hand, atol=1e-6)
    assert model.perplexity(ids) == pytest.approx(math.exp(by_hand.mean()), rel=1e-6)


def test_batch_size_changes_only_rounding():
    model, ids = _model(), np.random.default_rng(2).integers(0, 9, 300)
    reference = model.nll(ids)
    for size in (1, 7, 100):
        np.testing.assert_allclose(model.nll(ids, size), reference, atol=2e-6)
        assert model.nll(ids, size).sum() == pytest.approx(reference.sum(), rel=1e-7)
    whole = model.context_nll([[1, 2, 3], [3, 2, 1]], [4, 0])
    np.testing.assert_allclose(
        [model.context_nll([[1, 2, 3]], [4])[0], model.context_nll([[3, 2, 1]], [0])[0]], whole, atol=1e-6
    )


def test_log_probs_are_normalised_and_gathered_by_nll():
    model = _model()
    contexts, targets = np.random.default_rng(0).integers(0, 9, (30, 3)), np.arange(30) % 9
    rows = model.log_probs(contexts)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(np.exp(rows).sum(1), 1, atol=1e-12)
    np.testing.assert_allclose(-rows[np.arange(30), targets], model.context_nll(contexts, targets), atol=1e-6)
    assert model.log_probs(np.empty((0, 3), int)).shape == (0, 9)
    assert model.context_nll(np.empty((0, 3), int), []).shape == (0,)


def test_perplexity_of_a_half_and_a_quarter():
    """exp(−(ln 0.5 + ln 0.25)/2) = √8: a model without features whose bias says 1/2, 1/4, 1/4."""
    model = NPLM(3, 1, 1, 1)
    state = {name: torch.zeros_like(p) for name, p in model.state_dict().items()}
    model.load_state_dict({**state, "out.bias": [math.log(0.5), math.log(0.25), math.log(0.25)]})
    assert model.perplexity([0, 0, 1]) == pytest.approx(math.sqrt(8), rel=1e-6)
    assert round(model.perplexity([0, 0, 1]), 2) == 2.83


def test_softmax_of_three_scores():
    model = NPLM(3, 1, 1, 1)
    state = {name: torch.zeros_like(p) for name, p in model.state_dict().items()}
    model.load_state_dict({**state, "out.bias": [2.0, 1.0, 0.1]})
    np.testing.assert_allclose(np.exp(model.log_probs([[0]]))[0], [0.659, 0.242, 0.099], atol=5e-4)
    assert model.context_nll([[0]], [0])[0] == pytest.approx(0.417, abs=5e-4)
    model.loss([[0]], [0]).sum().backward()
    np.testing.assert_allclose(model.out.bias.grad, [-0.341, 0.242, 0.099], atol=5e-4)


def test_a_certain_wrong_answer_has_a_finite_loss_and_perplexity_may_be_infinite():
    model = NPLM(2, 1, 1, 1)
    state = {name: torch.zeros_like(p) for name, p in model.state_dict().items()}
    model.load_state_dict({**state, "out.bias": [1000.0, 0.0]})
    assert model.context_nll([[0]], [1])[0] == pytest.approx(1000.0)
    assert model.loss([[0]], [1]).item() == pytest.approx(1000.0)
    assert model.perplexity([0, 1, 1]) == math.inf


@pytest.mark.parametrize("mode", [True, False])
def test_scoring_and_generating_ignore_dropout_and_mode(mode):
    plain, dropping = _model(), NPLM(9, 3, 4, 5, dropout=0.9, dropout_input=0.5)
    dropping.load_state_dict(plain.state_dict())
    dropping.train(mode)
    ids = np.random.default_rng(2).integers(0, 9, 60)
    np.testing.assert_array_equal(dropping.nll(ids), plain.nll(ids))
    assert dropping.generate([1, 2, 3], 20, 1.0, 4) == plain.generate([1, 2, 3], 20, 1.0, 4)
    assert dropping.training is mode


# ---- generation ----


def test_ties_go_to_the_lowest_id():
    assert _all_zero().generate([5, 4], 4, 0.0, 0) == [0, 0, 0, 0]


def test_greedy_is_the_argmax_step_by_step():
    model, text = _model(), [1, 2, 3]
    for _ in range(12):
        text.append(int(np.argmax(model([text[-3:]]).detach().numpy()[0])))
    assert model.generate([1, 2, 3], 12, 0.0, 99) == text[3:]


def test_the_draw_is_the_published_generator_over_running_sums():
    model, text, rng = _model(), [1, 2, 3], PCG32(11, 54)
    for _ in range(40):
        z = model([text[-3:]]).detach().numpy()[0].astype(np.float64) / 0.7
        running = np.cumsum(np.exp(z - z.max()))
        u = rng.next_uint32() / 2**32
        text.append(int(np.flatnonzero(running > u * running[-1])[0]))
    assert model.generate([1, 2, 3], 40, 0.7, 11) == text[3:]
    assert model.generate([1, 2, 3], 40, 0.7, 11) == model.generate([1, 2, 3], 40, 0.7, 11)
    assert model.generate([1, 2, 3], 40, 0.7, 12) != text[3:]


def test_only_the_last_window_of_a_prompt_counts():
    model = _model()
    short = model.generate([4, 5, 6], 25, 1.0, 3)
    assert model.generate([0, 8, 1, 7, 4, 5, 6], 25, 1.0, 3) == short
    assert model.generate([4, 5, 6, 8, 1, 7], 25, 1.0, 3) != short


def test_temperature_near_zero_is_greedy():
    model = _model()
    greedy = model.generate([1, 2, 3], 10, 0.0, 0)
    assert model.generate([1, 2, 3], 10, 1e-4, 0) == greedy
    assert model.generate([1, 2, 3], 10, 1e-300, 0) == greedy


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_temperatures_that_mean_nothing_are_refused(temperature):
    with pytest.raises(InputError, match="temperature"):
        _model().generate([1, 2, 3], 1, temperature, 0)


def test_top_k_and_top_p_at_their_ends():
    model = _model()

    def take(**options):
        stream = model.stream([1, 2, 3], Sampling(**options), seed=5)
        return [next(stream) for _ in range(15)]

    everything, greedy = take(), take(temperature=0.0)
    assert take(top_k=9) == take(top_k=10**9) == take(top_p=1.0) == everything
    assert take(top_k=1) == take(top_p=1e-9) == greedy
    for wrong in ({"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}):
        with pytest.raises(InputError, match="top-"):
            take(**wrong)


# ---- refusals ----


@pytest.mark.parametrize("ids", [[[0, 1, 3]], [[-1, 0, 1]], torch.tensor([[0, 1, 3]]), torch.tensor([[0, -1, 1]])])
def test_ids_outside_the_vocabulary_are_refused(ids):
    model = NPLM(3, 3, 1, 1)
    for call in (
        model,
        model.log_probs,
        model.features,
        lambda x: model.loss(x, [0]),
        lambda x: model.context_nll(x, [0]),
    ):
        with pytest.raises(InputError, match=r"id (3|-1) is outside the vocabulary: expected 0 … 2"):
            call(ids)


def test_targets_are_checked():
    model = letters()
    for call in (model.loss, model.context_nll):
        with pytest.raises(InputError, match="id 3 is outside"):
            call([[0, 1]], [3])
        with pytest.raises(InputError, match=r"targets of shape \[2\]: expected \[1\]"):
            call([[0, 1]], [1, 2])


@pytest.mark.parametrize(
    "contexts", [[[0]], [[0, 1, 2]], [0, 1], torch.tensor([[0]]), torch.zeros(1, 2, 1, dtype=torch.int64)]
)
def test_a_wrong_window_width_is_refused(contexts):
    with pytest.raises(InputError, match=r"expected \[B, 2\]"):
        letters()(contexts)


def test_numbers_that_are_not_whole_are_refused():
    with pytest.raises(InputError, match="expected whole numbers"):
        letters()([[0.0, 1.0]])
    with pytest.raises(InputError, match="expected whole numbers"):
        letters()(torch.tensor([[0.0, 1.0]]))


def test_short_prompts_and_texts_are_refused():
    with pytest.raises(InputError, match="prompt of 1 ids: expected at least the window, 2"):
        letters().generate([0], 1, 1.0, 0)
    with pytest.raises(InputError, match="nothing to score"):
        letters().perplexity([0, 1])
    assert letters().nll([0, 1]).shape == (0,)


def test_any_integer_type_is_read():
    model = sentence()
    expected = model([[0, 1]])
    for given in (np.array([[0, 1]], np.uint8), torch.tensor([[0, 1]], dtype=torch.int32), ((0, 1),)):
        assert torch.equal(model(given), expected)
