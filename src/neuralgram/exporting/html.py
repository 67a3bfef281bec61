"""A network as one HTML page that needs nothing else: weights of 8 bits, plain script, no network.

    W[r][k] ≈ s[r]·q[r][k],  s[r] = max_k |W[r][k]| / 127,  q whole numbers from −127 to 127; biases stay 32-bit floats

What the rounding costs is measured, and printed in the page.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.exporting import Export, Written
from neuralgram.files import write_atomic
from neuralgram.neural.reference import Network
from neuralgram.numbers import spaced
from neuralgram.sampling import Sampling
from neuralgram.settings import setting
from neuralgram.text.windows import Corpus
from neuralgram.textmodel import TextModel
from neuralgram.tracing.result import network_of

_WRITTEN = 2_000  # tokens the model writes itself, to measure on, where no text is given
_HERE = Path(__file__).parent

State = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Cost:
    """What 8 bits cost: nats per token of the model and of its rounded self, on the same `tokens` of `what`."""

    what: str
    tokens: int
    exact: float
    rounded: float
    largest: float  # change of any probability

    @property
    def sentence(self) -> str:
        """The cost in words."""
        change = self.rounded - self.exact
        return (
            f"Rounding the weights to 8 bits changes the loss on {spaced(self.tokens)} tokens of {self.what} from "
            f"{self.exact:.4f} to {self.rounded:.4f} nats per token ({change:+.4f}; perplexity "
            f"{np.exp(self.exact):.4g} to {np.exp(self.rounded):.4g}), and no probability by more than "
            f"{self.largest:.4f}."
        )


def quantise(weight: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Scales [R] and whole numbers [R, K] with weight ≈ scales[:, None]·numbers; a row of zeros has scale 0."""
    rows = np.asarray(weight, np.float32)
    scales = (np.abs(rows).max(axis=1) / np.float32(127)).astype(np.float32)
    divisor = np.where(scales > 0, scales, np.float32(1))[:, None]
    return scales, np.clip(np.rint(rows / divisor), -127, 127).astype(np.int8)


def rounded(state: State) -> dict[str, NDArray[Any]]:
    """The weights as the page will have them: every matrix rounded, every bias as it is."""
    out = {}
    for name, array in state.items():
        if array.ndim == 2:
            scales, numbers = quantise(array)
            out[name] = scales[:, None] * numbers.astype(np.float32)
        else:
            out[name] = np.asarray(array, np.float32)
    return out


class Html(Export):
    """A network whose output layer is a plain softmax, however it was trained."""

    help = "a network as one page that works offline: change the window, see the bars, read surprisals, generate"
    use = "open it in any browser"

    @dataclass(frozen=True)
    class Settings:
        """What the page is called, and what its rounding is measured on."""

        title: str | None = setting(None, help="Heading of the page.", auto="the model's name")
        text: str | None = setting(
            None, help="A text to measure on what rounding to 8 bits costs.", auto="the model writes one"
        )

    @classmethod
    def write(cls, model: TextModel, path: Path, settings: Html.Settings) -> Written:
        """Write the page; `InputError` for a model that is no such network, and a text that is not UTF-8."""
        try:
            text = Path(settings.text).read_text(encoding="utf-8") if settings.text else None
        except UnicodeDecodeError as error:
            raise InputError(f"{settings.text}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
        name = "model" if model.path is None else model.path.resolve().name
        page, measured = to_html(model, title=settings.title or name, text=text)
        write_atomic(path, page.encode())
        return Written(asdict(measured), measured.sentence)


def cost(model: TextModel, text: str | None = None) -> Cost:
    """Measure what rounding costs on `text`, or on text the model writes itself (seed 0)."""
    lm = model.model
    other = type(lm).from_state(lm.config(), rounded(lm.state()))
    if text is None:
        what, corpus = "text that it wrote itself", _own_writing(model)
    else:
        what, corpus = "the given text", model.corpus(text)
    windows = corpus.windows(lm.context)
    if not len(windows):
        raise InputError(f"a text of {len(corpus)} tokens leaves nothing to measure on: give a longer one")
    exact, changed = lm.score(windows), other.score(windows)
    contexts, _ = windows.slice(0, min(len(windows), 500))
    largest = float(np.abs(np.exp(lm.log_probs(contexts)) - np.exp(other.log_probs(contexts))).max())
    return Cost(what, len(windows), float(exact.mean()), float(changed.mean()), largest)


def _own_writing(model: TextModel) -> Corpus:
    lm, boundary = model.model, model.boundary_id
    start = np.full(lm.context, 0 if boundary is None else boundary, np.int64)
    ids = list(islice(lm.stream(start, Sampling(), 0), _WRITTEN))
    return Corpus(np.array(ids, np.int64), lm.vocab_size, boundary)


def to_html(model: TextModel, *, title: str, text: str | None = None) -> tuple[str, Cost]:
    """The page, and what rounding costs (measured on `text` where there is one).

    Raises `InputError` for a model that is no network, or one whose output layer is no plain softmax.
    """
    lm = model.model
    network = network_of(lm)
    if network is None:
        raise InputError(f"a model of kind {lm.kind!r}: only a network (kind 'nplm') becomes an HTML page")
    if network.whole is not None:
        from neuralgram.families import HEADS, members

        linear = ", ".join(name for name, head in members(HEADS, "head").items() if head.linear)
        raise InputError(f"a network with the head {lm.config()['head']!r}: expected one of {linear}")
    measured = cost(model, text)
    data = json.dumps(_data(model, network, title, measured), ensure_ascii=False, separators=(",", ":"))
    page = (_HERE / "page.html").read_text(encoding="utf-8")
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    # `<` never stands in the data as such, so that no text in it can end the script.
    filled = {"TITLE": escape(title), "SCRIPT": script, "DATA": data.replace("<", "\\u003c")}
    return re.sub(r"@@([A-Z]+)@@", lambda mark: filled[mark[1]], page), measured


def _data(model: TextModel, network: Network, title: str, measured: Cost) -> dict[str, Any]:
    lm = model.model
    config = lm.config()
    trained = {name: array for name, array in lm.state().items() if name in network.weights}
    return {
        "title": title,
        "V": lm.vocab_size,
        "c": lm.context,
        "m": config["d_emb"],
        "layers": network.layers,
        "widths": [len(network.weights[f"{name}.bias"]) for name in network.layers],
        "direct": config["direct"],
        "activation": config["activation"],
        "tie": config["tie"],
        "parameters": int(sum(array.size for array in trained.values())),
        "boundary": model.boundary,
        "boundaryId": model.boundary_id,
        "unknown": model.tokenizer.unknown,
        "symbols": [model.symbol(i) for i in range(lm.vocab_size)],
        "tokenizer": _tokenizer(model),
        "cost": measured.sentence,
        "weights": {name: _packed(array) for name, array in trained.items()},
    }


def _tokenizer(model: TextModel) -> dict[str, Any]:
    tokenizer = model.tokenizer
    pieces = [piece.hex() for piece in tokenizer.pieces]
    return {"name": tokenizer.name, "pieces": pieces, "joiner": tokenizer.joiner, **tokenizer.for_page()}


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    if array.ndim == 2:
        scales, numbers = quantise(array)
        return {"shape": list(array.shape), "scales": _base64(scales), "numbers": _base64(numbers)}
    return {"shape": list(array.shape), "floats": _base64(np.asarray(array, np.float32))}


def _base64(array: NDArray[Any]) -> str:
    data = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return base64.b64encode(data.tobytes()).decode("ascii")
