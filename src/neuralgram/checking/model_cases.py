"""The contract's first half: names, windows, the equation, initial weights, losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neuralgram.checking import reference as ref
from neuralgram.checking.reference import CONTEXT, IDS, SIZES
from neuralgram.checking.student import NAMES, Student, array, lists
from neuralgram.checking.verdict import ContractError, Difference, expect, expect_params
from neuralgram.rng import PCG32


def names(student: Student) -> None:
    """The module has the contract's names."""
    missing = [name for name in NAMES if not hasattr(student.module, name)]
    if missing:
        raise ContractError(f"{', '.join(missing)} missing: the module needs {', '.join(NAMES)}")


def windows(student: Student) -> None:
    """5 6 7 8 with c = 2 gives (5, 6) → 7 and (6, 7) → 8."""
    for ids, context in (([5, 6, 7, 8], 2), ([3, 1, 2], 1), (IDS, CONTEXT)):
        contexts, targets = (np.asarray(part) for part in student.module.windows(np.array(ids), context))
        wanted = [ids[i : i + context] for i in range(len(ids) - context)]
        expect("contexts", contexts, wanted, faults=[("newest-first", [row[::-1] for row in wanted])], tolerance=0)
        expect("targets", targets, ids[context:], faults=[("targets-shifted", ids[context - 1 : -1])], tolerance=0)


def state_dict(student: Student) -> None:
    """The state dict's keys, in order, and their shapes."""
    for direct in (True, False):
        expected = {name: values.shape for name, values in ref.random_params(SIZES, direct).items()}
        found = {name: values.shape for name, values in student.params(student.model(SIZES, direct)).items()}
        if list(found) != list(expected):
            difference = Difference(f"keys with direct={direct}", ", ".join(found), ", ".join(expected))
            raise ContractError("the state dict has other keys, or another order", difference)
        for name, shape in expected.items():
            if found[name] != shape:
                raise ContractError(f"{name} has another shape", Difference(name, str(found[name]), str(shape)))


def architecture(student: Student) -> None:
    """The layers are attributes: emb, hidden, out and, with the direct path, direct, each with its weight and bias."""
    for direct in (True, False):
        model = student.model(SIZES, direct)
        for name, values in student.params(model).items():
            layer, part = name.split(".")
            found = getattr(getattr(model, layer, None), part, None)
            if found is None:
                difference = Difference(f"model.{name} with direct={direct}", "not there", name)
                raise ContractError("the layers have other names than the state dict", difference)
            expect(f"model.{name}", array(found), values, tolerance=1e-6, message=f"model.{name} is not its parameter")


def loading(student: Student) -> None:
    """load_state_dict takes nested lists, by name."""
    params = ref.random_params(SIZES, True)
    model = student.model(SIZES)
    try:
        model.load_state_dict(lists(params))
    except Exception as error:  # a student's code raises what it likes
        told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        difference = Difference("load_state_dict of nested lists", told, "the parameters")
        raise ContractError("make a tensor of each value before it is loaded", difference) from None
    expect_params(student.params(model), params, message="what was loaded is not what is there")


def forward(student: Student) -> None:
    """y = b + W x + U tanh(d + H x), the window's oldest token first."""
    hand = {
        "emb.weight": [[1], [0], [-1]],
        "hidden.weight": [[0.5, -0.5]],
        "hidden.bias": [0],
        "out.weight": [[1], [0], [-1]],
        "out.bias": [0, 0.5, 0],
        "direct.weight": [[1, 0], [0, 0], [0, 1]],
    }
    three = {name: np.array(values, np.float64) for name, values in hand.items()}
    for params, contexts in ((three, [[0, 2]]), (ref.random_params(SIZES, True), [[1, 4, 6], [2, 2, 0]])):
        _forward_is(student, params, contexts)
        _forward_is(student, {name: v for name, v in params.items() if name != "direct.weight"}, contexts)


def _forward_is(student: Student, params: ref.Params, contexts: list[list[int]]) -> None:
    found = student.logits(student.with_params(params, len(contexts[0])), contexts)
    turned = [row[::-1] for row in contexts]
    faults = [("newest-first", ref.logits(params, turned))]
    if "direct.weight" in params:
        plain = {name: values for name, values in params.items() if name != "direct.weight"}
        faults.append(("direct-not-added", ref.logits(plain, contexts)))
    expect("y", found, ref.logits(params, contexts), faults=faults, message="the scores differ")


def initial(student: Student) -> None:
    """Layers draw from one generator, one after another; a seed fixes the model."""
    first, again = (student.params(student.model(SIZES, seed=3)) for _ in range(2))
    expect_params(again, first, tolerance=0, message="two models with the same generator differ")
    default, other = (student.params(student.model(SIZES, seed=None)) for _ in range(2))
    expect_params(other, default, tolerance=0, message="two models without a generator differ")
    for params in (first, default):
        weights = {name: values.ravel()[:12] for name, values in params.items() if not ref.is_bias(name)}
        _no_repeats(weights)


def _no_repeats(weights: dict[str, Any]) -> None:
    """No layer's first draws are another's, up to scale and shift."""
    items = list(weights.items())
    for i, (name, values) in enumerate(items):
        if float(np.ptp(values)) == 0:
            raise ContractError(f"{name} starts with the same number everywhere: units that start equal stay equal")
        for other, theirs in items[:i]:
            likeness = abs(float(np.corrcoef(values, theirs)[0, 1]))
            if likeness > 0.9999:
                difference = Difference(f"correlation of {name} with {other}", likeness, "below 0.9")
                raise ContractError(f"{name} and {other} start from the same draws", difference, "generator-restarted")


def first_loss(student: Student) -> None:
    """Before training the loss is about log V."""
    size = 50
    model = student.model((size, CONTEXT, 16, 32))
    ids = np.array([int(value) % size for value in PCG32(3).uint32s(400)])
    loss = float(np.mean(np.asarray(model.nll(ids), np.float64)))
    if loss > math.log(size) + 0.5:
        difference = Difference("mean loss before training", loss, math.log(size))
        raise ContractError("the untrained model is worse than guessing", difference, "output-large")


def nll(student: Student) -> None:
    """nll(ids) is −log p of ids[c:], whatever the batch."""
    params = ref.random_params(SIZES, True)
    model = student.with_params(params, CONTEXT)
    wanted = ref.losses(params, IDS, CONTEXT)
    shifted = ref.copied_losses(params, IDS, CONTEXT)
    for size in (1024, 5, 1):
        found = np.asarray(model.nll(np.array(IDS), batch_size=size), np.float64)
        expect(f"nll with batch_size={size}", found, wanted, faults=[("targets-shifted", shifted)])


def perplexity(student: Student) -> None:
    """perplexity(ids) is exp of the mean loss."""
    params = ref.random_params(SIZES, True)
    mean = float(ref.losses(params, IDS, CONTEXT).mean())
    found = float(student.with_params(params, CONTEXT).perplexity(np.array(IDS)))
    expect("perplexity", found, math.exp(mean), faults=[("perplexity-in-nats", mean)])
