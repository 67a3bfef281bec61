"""A student's module, whatever it is made of: PyTorch, plain NumPy or an autograd of its own."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.rng import PCG32

NAMES = ("windows", "NPLM", "train_nplm", "save_nplm", "load_nplm")
LETTERS = {
    "C": "emb.weight",
    "H": "hidden.weight",
    "d": "hidden.bias",
    "U": "out.weight",
    "b": "out.bias",
    "W": "direct.weight",
}
Params = dict[str, NDArray[np.float64]]  # by state-dict key


def load_module(path: Path) -> types.ModuleType:
    """Import the file as a module of its own name, with `tinyllm.num.rng` answering where it is asked for."""
    for name in ("tinyllm", "tinyllm.num"):
        sys.modules.setdefault(name, types.ModuleType(name))
    rng = types.ModuleType("tinyllm.num.rng")
    rng.PCG32 = PCG32  # type: ignore[attr-defined]  # the module is made here
    sys.modules.setdefault("tinyllm.num.rng", rng)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def array(value: Any) -> NDArray[np.float64]:
    """The numbers of a tensor of any make, float64."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    elif not isinstance(value, np.ndarray) and isinstance(getattr(value, "data", None), np.ndarray):
        value = value.data
    return np.array(value, np.float64)


def lists(params: Params) -> dict[str, Any]:
    """The parameters as nested lists."""
    return {name: values.tolist() for name, values in params.items()}


def _like(values: NDArray[np.float64], own: Any) -> Any:
    """The numbers as a tensor of the make that `own` is of."""
    if hasattr(own, "new_tensor"):
        return own.new_tensor(values)
    return np.array(values, getattr(own, "dtype", np.float64)) if isinstance(own, np.ndarray) else values


class Student:
    """The module's functions, called as the contract says."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module

    def model(self, sizes: tuple[int, int, int, int], direct: bool = True, seed: int | None = 0) -> Any:
        """`NPLM(V, c, m, h, direct=…, rng=PCG32(seed))`; with seed None no generator is given."""
        rng = {} if seed is None else {"rng": PCG32(seed)}
        return self.module.NPLM(*sizes, direct=direct, **rng)

    def with_params(self, params: Params, context: int) -> Any:
        """A model that holds `params`."""
        V, m = params["emb.weight"].shape
        h = len(params["hidden.bias"])
        model = self.model((V, context, m, h), direct="direct.weight" in params)
        self.load(model, params)
        return model

    def load(self, model: Any, params: Params) -> None:
        """Give the model these parameters: nested lists, as the contract has it, or else arrays of its own make.

        That lists are not taken is one case of the contract; the others are asked all the same.
        """
        try:
            model.load_state_dict(lists(params))
        except Exception:  # a student's code raises what it likes
            own: Mapping[str, Any] = model.state_dict()
            model.load_state_dict({name: _like(values, own.get(name)) for name, values in params.items()})

    def params(self, model: Any) -> Params:
        """What the model holds now, copied."""
        state: Mapping[str, Any] = model.state_dict()
        return {name: array(values) for name, values in state.items()}

    def logits(self, model: Any, contexts: Any) -> NDArray[np.float64]:
        """y [B, V]."""
        ids = np.asarray(contexts, np.int64)
        return array(model(ids) if callable(model) else model.forward(ids))

    def train(self, model: Any, ids: Any, steps: int, batch_size: int, lr: float, **options: Any) -> list[float]:
        """`train_nplm`, with a generator of its own."""
        losses = self.module.train_nplm(model, np.asarray(ids, np.int64), steps, batch_size, lr, PCG32(7), **options)
        return [float(array(loss)) for loss in losses]
