"""The contract's other uses: generating, saving, refusing what cannot be."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from neuralgram.checking import reference as ref
from neuralgram.checking.reference import CONTEXT, IDS, SIZES, H, M, V
from neuralgram.checking.student import Student
from neuralgram.checking.verdict import ContractError, Difference, expect, expect_params
from neuralgram.rng import PCG32


def ties(student: Student) -> None:
    """Temperature 0 takes the first of the largest scores; n new ids come back."""
    zeros = {name: np.zeros_like(values) for name, values in ref.random_params(SIZES, True).items()}
    ids = [int(i) for i in student.with_params(zeros, CONTEXT).generate([1, 2, 3], 4, temperature=0, seed=0)]
    expect("greedy ids of a model of zeros", ids, [0] * 4, faults=[("ties-highest", [V - 1] * 4)], tolerance=0)


def prompt(student: Student) -> None:
    """A prompt longer than the window is continued from its end."""
    params = ref.random_params(SIZES, True)
    ids = [1, 2, 3, 4, 5, 6, 0, 5]
    found = [int(i) for i in student.with_params(params, CONTEXT).generate(ids, 5, temperature=0, seed=0)]
    start = _greedy(params, ids[:CONTEXT], 5)
    faults = [("prompt-start", start), ("prompt-start", start[:1] * 5)]
    expect("greedy ids", found, _greedy(params, ids[-CONTEXT:], 5), faults=faults, tolerance=0)


def _greedy(params: ref.Params, window: list[int], count: int) -> list[int]:
    out: list[int] = []
    for _ in range(count):
        out.append(int(ref.logits(params, [(window + out)[-CONTEXT:]])[0].argmax()))
    return out


def sampling(student: Student) -> None:
    """One PCG32(seed); a uniform a token; the first id whose running weight exceeds u times the sum."""
    params = ref.random_params(SIZES, True)
    model = student.with_params(params, CONTEXT)
    for temperature, seed in ((1.0, 0), (0.7, 5)):
        found = [int(i) for i in model.generate([1, 2, 3], 12, temperature=temperature, seed=seed)]
        draws, window, wanted = PCG32(seed), [1, 2, 3], []
        for _ in range(12):
            z = ref.logits(params, [window])[0] / temperature
            running = np.cumsum(np.exp(z - z.max()))
            wanted.append(int(np.searchsorted(running, draws.uniform() * running[-1], side="right")))
            window = [*window[1:], wanted[-1]]
        expect(f"ids drawn with temperature {temperature}, seed {seed}", found, wanted, tolerance=0)


def saving(student: Student) -> None:
    """save_nplm then load_nplm gives the same model; config.json and the tensors are as agreed."""
    for direct in (True, False):
        params = ref.random_params(SIZES, direct)
        with tempfile.TemporaryDirectory() as folder:
            place = str(Path(folder) / "model")
            student.module.save_nplm(student.with_params(params, CONTEXT), place)
            _stored(Path(place), direct, params)
            found = student.params(student.module.load_nplm(place))
        expect_params(found, params, message="the loaded model is another")


def _stored(folder: Path, direct: bool, params: ref.Params) -> None:
    from safetensors import safe_open

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    wanted = {
        "tl_arch": "nplm",
        "vocab_size": V,
        "tl_context": CONTEXT,
        "tl_d_emb": M,
        "hidden_size": H,
        "tl_direct": direct,
    }
    for key, value in wanted.items():
        if config.get(key) != value:
            raise ContractError("config.json differs", Difference(key, str(config.get(key)), str(value)))
    with safe_open(str(folder / "model.safetensors"), framework="np") as file:
        metadata = file.metadata() or {}
        stored = {name: np.asarray(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118  # not a dict
    missing = [name for name in params if name not in stored]
    if missing:
        pitfall = "direct-not-saved" if missing == ["direct.weight"] else None
        raise ContractError(f"{', '.join(missing)} not in model.safetensors", None, pitfall)
    for key, value in {"format": "tinyllm", "tl_arch": "nplm"}.items():
        if metadata.get(key) != value:
            difference = Difference(f"{key} in the metadata", str(metadata.get(key)), value)
            raise ContractError("the metadata of model.safetensors differ", difference)
    for name, values in stored.items():
        if values.dtype != np.float32:
            raise ContractError(f"{name} is stored as {values.dtype}", Difference(name, str(values.dtype), "float32"))


def bad_input(student: Student) -> None:
    """What cannot be is a ValueError at the call."""
    model = student.with_params(ref.random_params(SIZES, True), CONTEXT)
    module = student.module
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("NPLM with V = 0", lambda: student.model((0, CONTEXT, M, H))),
        ("NPLM with c = 0", lambda: student.model((V, 0, M, H))),
        ("NPLM with m = 0", lambda: student.model((V, CONTEXT, 0, H))),
        ("NPLM with h = 0", lambda: student.model((V, CONTEXT, M, 0))),
        ("a window of another width", lambda: student.logits(model, [[1, 2]])),
        ("an id of V", lambda: student.logits(model, [[1, 2, V]])),
        ("an id of −1", lambda: student.logits(model, [[1, 2, -1]])),
        ("a prompt shorter than the window", lambda: list(model.generate([1], 2, temperature=0, seed=0))),
        ("fewer windows than one batch", lambda: student.train(model, IDS, 1, 99, 0.1)),
        ("an unknown tokenizer", lambda: _save_with(module, model)),
        ("a directory with another tl_arch", lambda: _load_another(module, model)),
    ]
    for what, call in calls:
        try:
            call()
        except ValueError:
            continue
        except Exception as error:  # a student's code raises what it likes
            raise ContractError(
                f"{what}: {type(error).__name__}", Difference(what, type(error).__name__, "ValueError")
            ) from None
        raise ContractError(f"{what} is accepted", Difference(what, "no error", "ValueError"))


def _load_another(module: Any, model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        module.save_nplm(model, str(place))
        config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        (place / "config.json").write_text(json.dumps({**config, "tl_arch": "gpt"}), encoding="utf-8")
        module.load_nplm(str(place))


def _save_with(module: Any, model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        module.save_nplm(model, str(Path(folder) / "model"), tokenizer="nonsense")
