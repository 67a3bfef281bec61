"""Tests as a student might hand them in, for `check --tests`: they import the module under its own name."""

import numpy as np
from my_nplm import NPLM, PCG32, load_nplm, save_nplm, train_nplm, windows

IDS = [0, 1, 2, 3, 4, 0, 2, 1, 1, 3, 0, 4]


def arrays(model):
    return {name: np.array(values, np.float64) for name, values in model.state_dict().items()}


def trained(seed=1, steps=1, batch=5, lr=0.1, ids=IDS, state=None, **options):
    model = NPLM(5, 2, 3, 4, rng=PCG32(seed))
    if state is not None:
        model.load_state_dict(state)
    losses = train_nplm(model, ids, steps, batch, lr, PCG32(2), **options)
    return arrays(model), losses


def test_windows():
    x, y = windows([5, 6, 7, 8], 2)
    assert np.array(x).tolist() == [[5, 6], [6, 7]]
    assert np.array(y).tolist() == [7, 8]


def test_scores_by_hand():
    model = NPLM(3, 2, 1, 1, rng=PCG32(0))
    model.load_state_dict(
        {
            "emb.weight": [[1], [0], [-1]],
            "hidden.weight": [[0.5, -0.5]],
            "hidden.bias": [0],
            "out.weight": [[1], [0], [-1]],
            "out.bias": [0, 0.5, 0],
            "direct.weight": [[1, 0], [0, 0], [0, 1]],
        }
    )
    assert np.allclose(np.exp(-np.array(model.nll([0, 2, 0]))), 0.761784, atol=1e-5)


def test_layers_draw_different_numbers():
    state = arrays(NPLM(5, 2, 3, 4, rng=PCG32(3)))
    one, two = (state[name].ravel()[:6] for name in ("emb.weight", "hidden.weight"))
    assert not np.allclose(one / one[0], two / two[0], atol=1e-3)


def test_first_loss_is_near_log_V():
    assert abs(np.mean(NPLM(5, 2, 3, 4, rng=PCG32(1)).nll(IDS)) - np.log(5)) < 0.5


def test_perplexity():
    model = NPLM(5, 2, 3, 4, rng=PCG32(1))
    assert abs(model.perplexity(IDS) - np.exp(np.mean(model.nll(IDS)))) < 1e-6


def test_the_table_learns():
    before = arrays(NPLM(5, 2, 3, 4, rng=PCG32(1)))["emb.weight"]
    assert not np.allclose(trained(steps=3)[0]["emb.weight"], before)


def test_a_repeated_word_gets_both_gradients():
    ids, lr, epsilon = [1, 1, 2], 1e-2, 1e-2
    start = arrays(NPLM(5, 2, 3, 4, rng=PCG32(1)))
    moved = (start["emb.weight"] - trained(ids=ids, batch=1, lr=lr)[0]["emb.weight"])[1] / lr
    slopes = []
    for k in range(3):
        losses = []
        for sign in (1, -1):
            table = start["emb.weight"].copy()
            table[1, k] += sign * epsilon
            model = NPLM(5, 2, 3, 4, rng=PCG32(1))
            model.load_state_dict({**start, "emb.weight": table})
            losses.append(float(np.sum(model.nll(ids))))
        slopes.append((losses[0] - losses[1]) / (2 * epsilon))
    assert np.allclose(moved, slopes, atol=2e-3)


def test_the_batch_is_averaged():
    same = [1] * 12
    one, four = trained(ids=same, batch=1)[0], trained(ids=same, batch=4)[0]
    assert all(np.allclose(one[name], four[name], atol=1e-5) for name in one)


def test_as_many_steps_as_asked():
    assert len(trained(steps=7, batch=10)[1]) == 7


def test_momentum_is_kept_over_epochs():
    plain, pushed = trained(steps=3, batch=10)[0], trained(steps=3, batch=10, momentum=0.9)[0]
    assert not np.allclose(plain["out.bias"], pushed["out.bias"], atol=1e-4)


def test_clipping():
    start = arrays(NPLM(5, 2, 3, 4, rng=PCG32(1)))
    after = trained(lr=1.0, clip=1e-3)[0]
    assert np.sqrt(sum(((after[name] - start[name]) ** 2).sum() for name in start)) < 2e-3


def test_decay_leaves_biases_alone():
    state = {**arrays(NPLM(5, 2, 3, 4, rng=PCG32(1))), "out.bias": np.ones(5), "hidden.bias": np.ones(4)}
    without, decayed = trained(state=state)[0], trained(state=state, weight_decay=0.5)[0]
    assert np.allclose(without["out.bias"], decayed["out.bias"], atol=1e-6)
    assert not np.allclose(without["out.weight"], decayed["out.weight"], atol=1e-6)


def test_ties_and_long_prompts():
    model = NPLM(5, 2, 3, 4, rng=PCG32(1))
    start = arrays(model)
    model.load_state_dict({name: 0 * values for name, values in start.items()})
    assert list(model.generate([1, 2], 3, temperature=0, seed=0)) == [0, 0, 0]
    model.load_state_dict({name: 5 * values for name, values in start.items()})
    for last in ([1, 3], [4, 0], [2, 2], [3, 4], [0, 1]):
        long, short = (list(model.generate(p, 5, temperature=0, seed=0)) for p in ([0, 2, 1, 3, *last], last))
        assert long == short


def test_saving(tmp_path):
    model = NPLM(5, 2, 3, 4, rng=PCG32(1))
    save_nplm(model, str(tmp_path / "m"))
    one, two = arrays(model), arrays(load_nplm(str(tmp_path / "m")))
    assert list(one) == list(two)
    assert all(np.allclose(one[name], two[name]) for name in one)
