"""Networks whose output layer is another: their own way to P, gradients by autograd, one step, finite differences."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from neuralgram import NPLM, PCG32, InputError, health  # noqa: E402  # after the skip
from neuralgram.lm import LanguageModel  # noqa: E402
from neuralgram.text.windows import Corpus  # noqa: E402
from neuralgram.tracing import Trace, trace  # noqa: E402
from tests.tracing.scattered import scattered  # noqa: E402

V, C, M = 11, 3, 4
COUNTS = [5, 40, 2, 2, 90, 1, 17, 3, 8, 0, 4]
MODELS = {
    "adaptive": {"head": "adaptive", "d_hidden": 5},
    "adaptive, no hidden layer": {"head": "adaptive", "d_hidden": []},
    "adaptive, tied": {"head": "adaptive", "d_hidden": M, "tie": True, "direct": False},
    "adaptive, projected": {"head": "adaptive", "d_hidden": [6, 5], "tie": True},
    "adaptive, one softmax": {"head": "adaptive", "d_hidden": 5, "head_options": {"cutoffs": []}},
    "tree": {"head": "tree", "d_hidden": 5},
    "tree, no direct path": {"head": "tree", "d_hidden": [6, 5], "direct": False},
    "tree, no hidden layer": {"head": "tree", "d_hidden": []},
    "mos": {"head": "mos", "d_hidden": 5, "head_options": {"components": 3}},
    "mos, no hidden layer": {"head": "mos", "d_hidden": []},
    "mos, tied": {"head": "mos", "d_hidden": [6, 5], "tie": True, "direct": False},
    "sampled": {"head": "sampled", "d_hidden": 5},
    "nce": {"head": "nce", "d_hidden": 5, "tie": True, "direct": False},
}
CONTEXT, TARGET = [2, 7, 2], 9


def network(name: str, dtype: object = torch.float64) -> NPLM:
    return scattered(NPLM(V, C, M, rng=PCG32(3), head_counts=COUNTS, **MODELS[name]).to(dtype))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_equals_forward_and_autograd(name: str, dtype: object, tolerance: float) -> None:
    model = network(name, dtype)
    made = trace(model, CONTEXT, target=TARGET)
    assert made.kind == "network"
    log_p = model.log_probs([CONTEXT])[0]
    np.testing.assert_allclose(made.log_p, log_p, atol=4 * tolerance, rtol=tolerance)
    np.testing.assert_allclose(made.step("p").value, np.exp(log_p), atol=4 * tolerance)
    loss = torch.nn.functional.cross_entropy(model(np.array([CONTEXT])), torch.tensor([TARGET]))
    loss.backward()
    assert made.update.loss == pytest.approx(loss.item(), abs=4 * tolerance)
    assert list(made.update.gradients) == [key for key, _ in model.named_parameters()]
    for key, parameter in model.named_parameters():
        wanted = parameter.grad.numpy()
        np.testing.assert_allclose(made.gradient(key), wanted, atol=4 * tolerance, rtol=4 * tolerance, err_msg=key)


@pytest.mark.parametrize("name", MODELS)
def test_one_step_equals_torch_sgd_and_differences_agree(name: str) -> None:
    model = network(name)
    made = trace(model, CONTEXT, target=TARGET, lr=0.3)
    places, draws = [], PCG32(9)
    for key, gradient in made.update.gradients.items():
        places += [key + "".join(f"[{draws.next_uint32() % n}]" for n in gradient.shape) for _ in range(3)]
    found = made.check(*places)
    assert max(difference.error for difference in found) < 1e-8
    assert max(abs(difference.gradient) for difference in found) > 1e-3
    before = -model.context_nll([CONTEXT], [TARGET])[0]
    optimiser = torch.optim.SGD(model.parameters(), lr=0.3)
    torch.nn.functional.cross_entropy(model(np.array([CONTEXT])), torch.tensor([TARGET])).backward()
    optimiser.step()
    after = -model.context_nll([CONTEXT], [TARGET])[0]
    assert made.update.probability == pytest.approx(np.exp(before), abs=1e-12)
    assert made.update.probability_after == pytest.approx(np.exp(after), abs=1e-12)
    assert after > before
    for key, parameter in model.named_parameters():
        np.testing.assert_allclose(made.update.after[key], parameter.detach().numpy(), atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", [name for name in MODELS if not MODELS[name].get("tie")])
def test_the_way_back_shown_ends_in_the_gradients_of_autograd(name: str) -> None:
    made = trace(network(name), CONTEXT, target=TARGET)
    blocks = made.step("∂x").value.reshape(C, M)
    np.testing.assert_allclose(made.gradient("C")[2], blocks[0] + blocks[2], atol=1e-12)
    np.testing.assert_allclose(made.gradient("C")[7], blocks[1], atol=1e-12)
    np.testing.assert_allclose(made.step("∂C").value, made.gradient("C")[[2, 7]], atol=1e-12)
    if MODELS[name]["d_hidden"]:
        np.testing.assert_allclose(made.gradient("d"), made.step("δ").value, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_every_number_opens_and_the_formulas_give_it(name: str) -> None:
    made = trace(network(name), CONTEXT, target=TARGET, lr=0.1)
    json.dumps(made.to_json())
    for section in made.all_sections:
        for step in section.steps:
            for index in np.ndindex(step.value.shape):
                formula = step[index]
                assert formula.value == float(step.value[index])
                if section in made.sections and formula.filled and "v = " not in formula.filled:
                    assert arithmetic(formula.filled, made) == pytest.approx(formula.value, abs=5e-3, rel=5e-3)
    for width in (60, 80, 120):
        assert max(map(len, made.render(width).splitlines())) <= width


def arithmetic(text: str, made: Trace) -> float:
    """The value of a formula as it is written out, four decimals a number."""
    plain = text.replace("·", "*").replace("−", "-").replace("Σ_v e[v] over 11 words", str(made.forward.e.sum()))
    functions = {"exp": np.exp, "tanh": np.tanh, "max": max, "__builtins__": {}}
    value: float = eval(plain.replace("smaller terms: ", "0 and 0) + ("), functions)
    return value


def state(model: LanguageModel) -> dict[str, np.ndarray]:
    return {name: np.asarray(array, np.float64) for name, array in model.state().items()}


def softmax(y: np.ndarray) -> np.ndarray:
    return np.exp(y) / np.exp(y).sum()


def features(model: NPLM) -> tuple[np.ndarray, np.ndarray]:
    """a and x of a network with one hidden layer and no tying."""
    w = state(model)
    x = w["emb.weight"][CONTEXT].reshape(-1)
    return np.tanh(w["hidden.bias"] + w["hidden.weight"] @ x), x


def test_adaptive_is_the_cluster_times_the_word_in_it() -> None:
    """Worked out from the weights: ranks by COUNTS, the two frequent words 4 and 1, clusters of ranks 2 … 3 and on."""
    model = network("adaptive")
    w, (a, x) = state(model), features(model)
    order = sorted(range(V), key=lambda v: (-COUNTS[v], v))
    scores = [w["out.bias"][r] + w["out.weight"][r] @ a + w["direct.weight"][v] @ x for r, v in enumerate(order)]
    clusters = w["out.cluster_bias"] + w["out.cluster_weight"] @ np.concatenate([a, x])
    first = softmax(np.array([*scores[:2], *clusters]))
    made = trace(model, CONTEXT, target=TARGET)
    titled = {part.title: {step.name: step.value for step in part.steps} for part in made.sections}
    clusters_shown, words_shown = titled["Clusters of rarer words"], titled["Cluster, then word"]
    np.testing.assert_array_equal(clusters_shown["words"], [2, 7])
    np.testing.assert_allclose(clusters_shown["P(cluster)"], first[2:], atol=1e-12)
    for rank, v in enumerate(order):
        k = 0 if rank < 2 else 1 if rank < 4 else 2
        low, high = ((0, 2), (2, 4), (4, V))[k]
        chosen = 1.0 if k == 0 else first[1 + k]
        within = first[rank] if k == 0 else softmax(np.array(scores[low:high]))[rank - low]
        assert words_shown["cluster"][v] == k
        assert words_shown["P in it"][v] == pytest.approx(within, abs=1e-12)
        assert words_shown["P(cluster)"][v] == pytest.approx(chosen, abs=1e-12)
        assert words_shown["p"][v] == pytest.approx(chosen * within, abs=1e-12)


def test_the_tree_shows_the_questions_on_the_way() -> None:
    model = network("tree")
    w, (a, x) = state(model), features(model)
    made = trace(model, CONTEXT, target=TARGET)
    path = next(part for part in made.sections if part.title == f"The path to {TARGET}")
    columns = {step.name: step.value for step in path.table}
    link, questions = int(w["out.above"][V - 1 + TARGET]), []
    while link >= 0:
        questions.insert(0, (link // 2, link % 2))
        link = int(w["out.above"][link // 2])
    product = 1.0
    assert [path.row(i).split(" ")[0] for i in range(len(questions))] == [str(node) for node, _ in questions]
    for i, (node, side) in enumerate(questions):
        s = w["out.bias"][node] + w["out.weight"][node] @ a + w["direct.weight"][node] @ x
        yes = 1 / (1 + np.exp(-s))
        product *= yes if side else 1 - yes
        assert columns["side"][i] == side
        assert columns["σ"][i] == pytest.approx(yes, abs=1e-12)
        assert columns["product"][i] == pytest.approx(product, abs=1e-12)
    assert made.target.probability == pytest.approx(product, abs=1e-12)
    assert made.step("questions").value[TARGET] == len(questions)
    likeliest = trace(model, CONTEXT).sections
    assert sum(part.title.startswith("The path to") for part in likeliest) == 2


def test_a_mixture_of_softmaxes_shows_its_weights_and_parts() -> None:
    model = network("mos")
    w, (a, x) = state(model), features(model)
    made = trace(model, CONTEXT, target=TARGET)
    pi = softmax(w["out.gate_bias"] + w["out.gate_weight"] @ np.concatenate([a, x]))
    np.testing.assert_allclose(made.step("π").value, pi, atol=1e-12)
    P, q = w["out.part_weight"].reshape(3, 5, 5), w["out.part_bias"].reshape(3, 5)
    total = np.zeros(V)
    for k in range(3):
        moved = np.tanh(P[k] @ a + q[k])
        np.testing.assert_allclose(made.step("a_k").value[:, k], moved, atol=1e-12)
        p = softmax(w["out.bias"] + w["direct.weight"] @ x + w["out.weight"] @ moved)
        np.testing.assert_allclose(made.step("p_k").value[:, k], p, atol=1e-12)
        total += pi[k] * p
    np.testing.assert_allclose(made.step("p").value, total, atol=1e-12)


def test_rows_are_named_by_words_only_where_they_are_words() -> None:
    """Of the tree, row n of U and W is a question's; of the clusters, row r of U is a rank's."""
    from neuralgram.text.tokenizers import tokenizer_class
    from neuralgram.textmodel import TextModel

    words = tokenizer_class("words").train([" ".join(w for i, w in enumerate("abcdefghijk") for _ in range(20 - i))])
    for name, refused in (("tree", ("U[c][0]", "W[c][0]", "b[c]")), ("adaptive", ("U[c][0]", "b[c]"))):
        made = trace(TextModel(network(name), words), "c h c", target="j", lr=0.1)
        assert made.check("C[c][0]")[0].index == (2, 0)
        for place in refused:
            with pytest.raises(InputError, match=r"\[c\] in"):
                made.check(place)
        moved = made.step("after")
        assert not any(moved.rows(i).startswith("b[") for i in range(len(moved.value)))
    made = trace(TextModel(network("mos"), words), "c h c", target="j", lr=0.1)
    assert made.check("U[c][0]", "W[c][0]", "b[c]")[2].index == (2,)


@pytest.mark.parametrize("name", ["adaptive", "tree", "mos", "sampled"])
def test_health_of_any_head(name: str) -> None:
    model = network(name)
    corpus = Corpus(np.arange(40) * 7 % V, V, None)
    contexts, targets = corpus.windows(C).slice(0, 37)
    found = health(model, corpus)
    loss = torch.nn.functional.cross_entropy(model(contexts), torch.from_numpy(targets))
    loss.backward()
    assert (found.windows, found.loss) == (37, pytest.approx(loss.item(), abs=1e-12))
    norms = {parameter.name: parameter.gradient_norm for parameter in found.parameters}
    for key, parameter in model.named_parameters():
        assert norms[key] == pytest.approx(parameter.grad.norm().item(), abs=1e-12)
    assert (found.rank.bound is None) is (name != "sampled")
    assert found.rank.rank == np.linalg.matrix_rank(model.log_probs(np.unique(contexts, axis=0)))
    assert "Rank of the log-probabilities" in found.render(80)
