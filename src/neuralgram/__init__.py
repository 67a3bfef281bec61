"""neuralgram: a neural n-gram. The neural probabilistic language model of Bengio et al. (2003), the
counting models it is measured against and their mixtures as one kind of thing, over the same tokens.

    import neuralgram as ng

    model = ng.load("runs/story")            # strings in, strings out: a TextModel
    model.perplexity("the cat sat")          # exp of nats per token
    net = ng.NPLM(27, 4, 16, 64)             # the bare network, over ids
    ng.train_nplm(net, ids, steps=1000, batch_size=64, lr=0.1, rng=ng.PCG32(1))

Names are imported on first use: PyTorch is loaded only by what needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralgram.errors import DivergedError, InputError, ModelDirError, NeuralgramError, TextError
    from neuralgram.lessons import LESSONS, lesson
    from neuralgram.lm import LanguageModel
    from neuralgram.mixture import Mixture, Uniform
    from neuralgram.modeldir import load_nplm, save_nplm
    from neuralgram.neural.nplm import NPLM
    from neuralgram.neural.reference import nplm_grads, nplm_loss, nplm_params
    from neuralgram.rng import PCG32
    from neuralgram.sampling import Sampling
    from neuralgram.text.shuffle import permutation
    from neuralgram.text.windows import Corpus, windows
    from neuralgram.textmodel import TextModel, load
    from neuralgram.tracing import health, neighbors, trace
    from neuralgram.training.loop import train_nplm

__version__ = "0.1.0"

_HOMES = {
    "errors": ("DivergedError", "InputError", "ModelDirError", "NeuralgramError", "TextError"),
    "lm": ("LanguageModel",),
    "modeldir": ("load_nplm", "save_nplm"),
    "neural.nplm": ("NPLM",),
    "neural.reference": ("nplm_grads", "nplm_loss", "nplm_params"),
    "rng": ("PCG32",),
    "sampling": ("Sampling",),
    "text.shuffle": ("permutation",),
    "text.windows": ("Corpus", "windows"),
    "textmodel": ("TextModel", "load"),
    "tracing": ("health", "neighbors", "trace"),
    "lessons": ("LESSONS", "lesson"),
    "mixture": ("Mixture", "Uniform"),
    "training.loop": ("train_nplm",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
__all__ = [
    "LESSONS",
    "NPLM",
    "PCG32",
    "Corpus",
    "DivergedError",
    "InputError",
    "LanguageModel",
    "Mixture",
    "ModelDirError",
    "NeuralgramError",
    "Sampling",
    "TextError",
    "TextModel",
    "Uniform",
    "health",
    "lesson",
    "load",
    "load_nplm",
    "neighbors",
    "nplm_grads",
    "nplm_loss",
    "nplm_params",
    "permutation",
    "save_nplm",
    "trace",
    "train_nplm",
    "windows",
]


def __getattr__(name: str) -> object:
    if name == "kenlm":  # a module: `from neuralgram import kenlm`
        return import_module("neuralgram.scoring.kenlm")
    if name not in _HOME:
        raise AttributeError(f"module 'neuralgram' has no attribute {name!r}")
    value = getattr(import_module(f"neuralgram.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
