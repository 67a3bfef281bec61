"""From texts to a model directory: read, split, tokenize, train, save, draw. What commands, demo and recipes call.

While a run goes on, OUT/run holds its settings, ids, log and checkpoints; the model's own files are written into OUT
when it ends, so an older model there stays whole until the new one replaces it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from neuralgram.errors import InputError, ModelDirError
from neuralgram.evaluation.plots import learning_curve
from neuralgram.files import write_atomic
from neuralgram.neural.nplm import NPLM
from neuralgram.rng import generator
from neuralgram.text.corpora import Corpora
from neuralgram.text.windows import token_frequencies
from neuralgram.textmodel import TextModel
from neuralgram.training import checkpoint, events
from neuralgram.training.config import TrainConfig
from neuralgram.training.driver import TrainResult
from neuralgram.training.run import fit
from neuralgram.training.texts import part_sizes

CURVE = "learning-curve.png"
_SETTINGS = ("given", "texts", "valid", "test", "text", "reasons", "model", "training")  # what resuming needs


@dataclass(frozen=True)
class ModelSettings:
    """The sizes of a network; the names are those of `NPLM`."""

    context: int
    d_emb: int
    d_hidden: int | tuple[int, ...]
    direct: bool = True
    activation: str = "tanh"
    dropout: float = 0.0
    dropout_input: float = 0.0
    tie: bool = False
    head: str = "softmax"
    head_options: dict[str, Any] = field(default_factory=dict)

    def build(self, vocab: int, seed: int, counts: NDArray[np.int64] | None = None) -> NPLM:
        """The network, its weights drawn from the `init` stream of `seed`; `counts` [V] of the training text."""
        return NPLM(vocab, **asdict(self), rng=generator(seed, "init"), head_counts=counts)


def train_network(
    corpora: Corpora,
    sizes: ModelSettings,
    config: TrainConfig,
    out: Path,
    *,
    resume: bool = False,
    device: str = "cpu",
    story: dict[str, Any] | None = None,
    references: dict[str, float] | None = None,
    on_event: events.OnEvent = events.ignore,
) -> tuple[TextModel, TrainResult]:
    """Train a network on `corpora`, save it in `out` with its learning curve, and give it back.

    device      `cpu`, `cuda`, or `auto`: the GPU where there is one; the model comes back on the processor
    story       what else neuralgram.json is to tell: where the text came from, the command, reasons of settings
    references  label -> nats, drawn as lines in the learning curve
    """
    run = out / "run"
    frequencies = token_frequencies(corpora.train)
    model = sizes.build(corpora.vocab_size, config.seed, frequencies)
    identity = {"tokenizer": corpora.tokenizer.hash, "boundary": corpora.boundary}
    result = fit(
        model.to(choose_device(device)),
        corpora.train,
        corpora.valid,
        config,
        folder=run,
        resume=resume,
        identity=identity,
        on_event=on_event,
    )
    model.to("cpu")
    story = story or {}
    info = {
        **story,
        "data": {**corpora.info, **story.get("data", {}), "tokens": part_sizes(corpora)},
        "training": {"config": config.to_json(), **result._asdict()},
    }
    trained = TextModel(model, corpora.tokenizer, corpora.boundary, info, out, frequencies)
    trained.save(out)
    learning_curve(curve_records(run / "log.jsonl"), out / CURVE, vocab_size=corpora.vocab_size, references=references)
    checkpoint.remove(run)
    shutil.rmtree(run / "data", ignore_errors=True)
    return trained, result


def choose_device(name: str) -> torch.device:
    """`cpu`, `cuda` or `auto` as a device; refuses a GPU that is not there."""
    there = torch.cuda.is_available()
    if name not in ("auto", "cpu", "cuda") or (name == "cuda" and not there):
        raise InputError(
            f"device {name!r}: expected {'auto, cpu or cuda' if there else 'auto or cpu (no GPU is here)'}"
        )
    return torch.device("cuda" if there and name != "cpu" else "cpu")


def write_settings(run: Path, settings: dict[str, Any]) -> None:
    """Keep what a run was told, so that `--resume` needs no repeating of it."""
    write_atomic(run / "settings.json", (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode())


def read_settings(run: Path) -> dict[str, Any]:
    """What `write_settings` kept; `ModelDirError` where it is damaged."""
    path = run / "settings.json"
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelDirError(f"{path}: not JSON ({error}); start again with --overwrite") from None
    missing = [name for name in _SETTINGS if not isinstance(settings, dict) or name not in settings]
    if missing:
        raise ModelDirError(f"{path}: lacks {', '.join(missing)}; start again with --overwrite")
    return dict(settings)


def curve_records(log: Path) -> list[dict[str, Any]]:
    """The points of a learning curve from a run's log.jsonl."""
    records = []
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event.get("event") == "progress":
            records.append({"step": event["step"], "loss": event["running_loss"]})
        elif event.get("event") == "evaluated":
            records.append({"step": event["step"], "valid_nats": event["valid_loss"]})
    return records
