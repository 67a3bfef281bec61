"""A value of the wrong kind is refused by name wherever the package is called: never an AttributeError or TypeError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import neuralgram as ng
from neuralgram.text.windows import Corpus

IDS = np.arange(60) % 7
WRONG = (None, "x", object(), -1, [1.5], float("nan"), ng.PCG32)
NETWORK = {
    "vocab": 7, "context": 3, "d_emb": 4, "d_hidden": 5, "direct": True, "rng": ng.PCG32(0), "activation": "tanh",
    "dropout": 0.0, "dropout_input": 0.0, "tie": False, "head": "softmax", "head_options": {},
    "head_counts": np.ones(7),
}  # fmt: skip
TRAINING = {
    "model": ng.NPLM(7, 3, 4, 5), "ids": IDS, "steps": 1, "batch_size": 5, "lr": 0.1, "rng": ng.PCG32(0),
    "momentum": 0.0, "weight_decay": 0.0, "clip": 1.0,
}  # fmt: skip
MODEL = ng.NPLM(7, 3, 4, 5)
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "NPLM": (ng.NPLM, NETWORK),
    "train_nplm": (ng.train_nplm, TRAINING),
    "permutation": (ng.permutation, {"n": 9, "seed": 0, "epoch": 0}),
    "windows": (ng.windows, {"ids": IDS, "context": 3}),
    "PCG32": (ng.PCG32, {"seed": 0, "stream": 54}),
    "Sampling": (ng.Sampling, {"temperature": 1.0, "top_k": 3, "top_p": 0.5}),
    "Corpus.windows": (Corpus(IDS, 7).windows, {"context": 3}),
    "log_probs": (MODEL.log_probs, {"contexts": [[1, 2, 3]]}),
    "context_nll": (MODEL.context_nll, {"contexts": [[1, 2, 3]], "targets": [1]}),
    "nll": (MODEL.nll, {"ids": IDS}),
    "perplexity": (MODEL.perplexity, {"ids": IDS}),
    "top": (MODEL.top, {"contexts": [[1, 2, 3]], "k": 2}),
    "generate": (MODEL.generate, {"prefix": [1, 2, 3], "n": 3, "temperature": 1.0, "seed": 0}),
}


@pytest.mark.parametrize(("name", "parameter"), [(name, key) for name, (_, given) in CALLS.items() for key in given])
def test_a_wrong_kind_of_value_is_taken_or_refused(name: str, parameter: str) -> None:
    function, given = CALLS[name]
    function(**given)
    for value in WRONG:
        try:
            function(**{**given, parameter: value})
        except ng.InputError:
            continue


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ng.train_nplm(MODEL, IDS, 1, 5, 0.1, None), r"rng None: expected a generator .* such as PCG32\(0\)"),
        (lambda: ng.train_nplm(None, IDS, 1, 5, 0.1, ng.PCG32(0)), "model None: expected an NPLM"),
        (lambda: ng.NPLM(7, 3, 4, 5, True, 5), "rng 5: expected a generator"),
        (lambda: MODEL.generate([1, 2, 3], 3, 1.0, None), "seed None: expected a whole number"),
        (lambda: MODEL.generate([1, 2, 3], 3, None), "temperature None: expected a number"),
    ],
)
def test_it_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ng.InputError, match=message):
        call()
