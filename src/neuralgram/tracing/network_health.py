"""How a network is doing on a text: saturation, dead units, losses, norms, step sizes, the rank of what it says."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from neuralgram.errors import InputError
from neuralgram.lm import LanguageModel
from neuralgram.neural.reference import Forward, Network
from neuralgram.text.windows import Corpus
from neuralgram.tracing import render
from neuralgram.tracing.formulas import elementwise, given
from neuralgram.tracing.names import letter_of
from neuralgram.tracing.result import Traced, network_of
from neuralgram.tracing.steps import Section

_NUMBERS = 1 << 24  # about so many numbers of the log-probability matrix are held at once


@dataclass(frozen=True)
class Layer:
    """A hidden layer over the windows looked at.

    saturated  the share of activations whose derivative is below 1/50 of the largest (|a| > 0.99 for tanh)
    dead       units that are so in every window: no error passes them
    mean_abs   mean |a|
    """

    name: str
    units: int
    saturated: float
    dead: tuple[int, ...]
    mean_abs: float


@dataclass(frozen=True)
class Parameter:
    """A parameter: its norm, its gradient's norm over the windows, and lr·‖∂θ‖/‖θ‖ of one step of plain SGD."""

    name: str
    letter: str
    shape: tuple[int, ...]
    norm: float
    gradient_norm: float
    update_ratio: float | None


@dataclass(frozen=True)
class Rank:
    """The rank of the matrix of log-probabilities, contexts × words, beside its bound.

    bound    features + 2: h + 2 without the direct path, h + c·m + 2 with it; None where the head sets none
    visible  whether enough different contexts and words stood in the matrix to go above the bound
    """

    rank: int
    bound: int | None
    contexts: int
    words: int

    @property
    def visible(self) -> bool:
        """A matrix no larger than the bound says nothing about it."""
        return self.bound is not None and min(self.contexts, self.words) > self.bound


@dataclass(frozen=True)
class Health:
    """What `health` found; losses in nats, `first_loss` that of the first update where the model remembers it."""

    windows: int
    loss: float
    log_V: float
    first_loss: float | None
    lr: float
    layers: tuple[Layer, ...]
    parameters: tuple[Parameter, ...]
    rank: Rank

    @property
    def warnings(self) -> list[str]:
        """What is out of the ordinary, a sentence each."""
        out = []
        for layer in self.layers:
            if layer.saturated > 0.5:
                out.append(
                    f"{layer.saturated:.0%} of the activations of {layer.name} are saturated: little is learned there"
                )
            if layer.dead:
                out.append(
                    f"{len(layer.dead)} of {layer.units} units of {layer.name} let no error through in any window"
                )
        if self.first_loss is not None and self.first_loss > self.log_V + 0.5:
            out.append(
                f"the first loss was {self.first_loss:.2f}, well above log V = {self.log_V:.2f}: it started too sure"
            )
        if self.loss > self.log_V:
            out.append(
                f"the loss here, {self.loss:.2f}, is above log V = {self.log_V:.2f}: a uniform guess does better"
            )
        return out

    def sections(self) -> tuple[Section, ...]:
        """The findings as tables."""
        return (_losses(self), *_layers(self), _parameters(self), _rank(self))

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {**asdict(self), "rank": {**asdict(self.rank), "visible": self.rank.visible}, "warnings": self.warnings}

    def render(self, width: int = 100) -> str:
        """The findings as text for a terminal."""
        return render.to_text("Health", self.sections(), subtitle="\n".join(self.warnings), width=width)

    def _repr_html_(self) -> str:
        return render.to_html("Health", self.sections(), subtitle="; ".join(self.warnings))


def health(
    model: Traced, corpus: Corpus, *, windows: int = 1024, lr: float = 0.1, first_loss: float | None = None
) -> Health:
    """Measure a network on `corpus`, on at most `windows` windows spread evenly over it, in float64.

    lr          the rate for which the size of one SGD step is given
    first_loss  the loss of the first update, if the caller knows it
    Raises `InputError` for a model that is no network and a text with nothing to predict.
    """
    lm = model if isinstance(model, LanguageModel) else model.model
    network = network_of(lm)
    if network is None:
        raise InputError(f"{lm.called} has no hidden units to look at: expected a network")
    view = corpus.windows(lm.context)
    if not len(view):
        raise InputError(f"a text of {len(corpus)} tokens leaves nothing to predict: expected more than {lm.context}")
    if windows < 1 or not (math.isfinite(lr) and lr >= 0):
        raise InputError(f"windows {windows}, lr {lr}: expected at least 1 window and a rate of 0 or more")
    count = min(len(view), windows, max(64, _NUMBERS // lm.vocab_size))
    contexts, targets = view.gather(np.arange(count, dtype=np.int64) * len(view) // count)
    passed = network.forward(contexts)
    loss = float(passed.loss(targets).mean())
    layers = tuple(_layer(network, passed, i) for i in range(len(passed.a)))
    gradients = network.backward(passed, targets).parameters
    parameters = tuple(_parameter(network, name, gradient, lr) for name, gradient in gradients.items())
    return Health(
        count, loss, math.log(lm.vocab_size), first_loss, lr, layers, parameters, log_prob_rank(network, contexts)
    )


def _layer(network: Network, passed: Forward, i: int) -> Layer:
    a = passed.a[i]
    flat = network.activation.saturated(network.activation.slope(passed.z[i], a))
    dead = tuple(int(unit) for unit in np.flatnonzero(flat.all(axis=0)))
    return Layer(network.layers[i], a.shape[1], float(flat.mean()), dead, float(np.abs(a).mean()))


def _parameter(network: Network, name: str, gradient: np.ndarray[Any, Any], lr: float) -> Parameter:
    weight = network.weights[name]
    norm, slope = float(np.linalg.norm(weight)), float(np.linalg.norm(gradient))
    return Parameter(name, letter_of(name), weight.shape, norm, slope, lr * slope / norm if norm else None)


def log_prob_rank(network: Network, contexts: np.ndarray[Any, np.dtype[np.int64]]) -> Rank:
    """The rank of log p over the different windows among `contexts` [B, c], in float64."""
    V = len(network.weights["emb.weight"])
    features = 0 if network.output is None else network.output.shape[1]
    features += network.weights["direct.weight"].shape[1] if "direct.weight" in network.weights else 0
    different = np.unique(contexts, axis=0)[: min(2 * (features + 2) + 32, max(64, _NUMBERS // V))]
    log_p = network.forward(different).log_p
    bound = features + 2 if network.whole is None else None  # a mixture, clusters and a tree may all go above it
    return Rank(int(np.linalg.matrix_rank(log_p)), bound, *log_p.shape)


def _losses(found: Health) -> Section:
    steps = [
        given("loss here", found.loss, equation=f"mean over {found.windows} windows, in nats"),
        given("log V", found.log_V, equation="the loss of a uniform guess"),
        elementwise("perplexity here", "exp({loss})", math.exp(min(found.loss, 700.0)), {"loss": found.loss}),
    ]
    if found.first_loss is not None:
        steps.append(given("first loss", found.first_loss, equation="before the first update; near log V is right"))
    return Section("Losses", steps=tuple(steps))


def _layers(found: Health) -> list[Section]:
    if not found.layers:
        return []

    def name(i: int) -> str:
        return found.layers[i].name

    steps = (
        given("units", [float(layer.units) for layer in found.layers], rows=name),
        given("saturated", [layer.saturated for layer in found.layers], equation="share of activations", rows=name),
        given("dead", [float(len(layer.dead)) for layer in found.layers], equation="flat in every window", rows=name),
        given("mean |a|", [layer.mean_abs for layer in found.layers], rows=name),
    )
    return [Section("Hidden layers", "", steps, "layer")]


def _parameters(found: Health) -> Section:
    def name(i: int) -> str:
        return f"{found.parameters[i].letter} {list(found.parameters[i].shape)}"

    ratios = [parameter.update_ratio or 0.0 for parameter in found.parameters]
    steps = (
        given("‖θ‖", [parameter.norm for parameter in found.parameters], rows=name),
        given("‖∂θ‖", [parameter.gradient_norm for parameter in found.parameters], rows=name),
        given("lr·‖∂θ‖/‖θ‖", ratios, equation=f"one step of plain SGD, lr {found.lr:g}", rows=name),
    )
    return Section("Parameters", "A step of about a thousandth of a weight matrix is usual.", steps, "parameter")


def _rank(found: Health) -> Section:
    rank = found.rank
    steps = [given("rank", float(rank.rank), equation="of log p, contexts × words")]
    seen = f"{rank.contexts} contexts × {rank.words} words"
    if rank.bound is None:
        text = f"From {seen}. This head does not hold it to features + 2, as a softmax of b + W x + U a would."
        return Section("Rank of the log-probabilities", text, tuple(steps))
    steps.append(given("bound", float(rank.bound), equation="features + 2"))
    text = f"From {seen}." if rank.visible else f"Only {seen}: too few to go above the bound."
    return Section("Rank of the log-probabilities", text, tuple(steps))
