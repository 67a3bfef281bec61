"""`mix` as one call: model directories to the directory of their mixture. Nothing here needs PyTorch itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neuralgram.errors import InputError
from neuralgram.evaluation.evaluate import evaluate
from neuralgram.evaluation.texts import Reading, text_part
from neuralgram.lm import LanguageModel
from neuralgram.mixture import Mixture, Uniform
from neuralgram.settings import checked, described
from neuralgram.text.windows import Corpus
from neuralgram.textmodel import TextModel, load
from neuralgram.training.config import MixSettings
from neuralgram.training.jobs.texts import versions

FITTED = ("learned", "binned")


def mix_models(given: Mapping[str, Any]) -> dict[str, Any]:
    """Mix the models of the directories `given["models"]` into `given["out"]`; returns what `mix --json` prints.

    The settings are those of `MixSettings`; `weights` may be numbers too.

    valid  the text that `learned` and `binned` weights are fitted to
    train  for `binned`: the training text, whose contexts are counted (with `part`, that of the split)

    Raises `InputError` for models over different tokenizers or boundaries and for weights that cannot be.
    """
    for one in described(MixSettings):
        if one.name != "weights":  # they may be numbers; `numbers` reads them
            checked(one, given.get(one.name, one.default))
    out = Path(given["out"])
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not given.get("overwrite"):
        raise InputError(f"--out {out}: exists already; --overwrite replaces it")
    floors = [name for name in ("uniform", "unseen") if given.get(name)]
    if len(given["models"]) + len(floors) == 1:
        raise InputError(
            f"a mixture of {given['models'][0]} alone is that model: give a second MODEL, --uniform or --unseen"
        )
    if given.get("part") and not given.get("valid"):
        raise InputError(f"--part {given['part']}: of which text? Give it with --valid")
    models = [load(path) for path in given["models"]]
    _check_same(models)
    parts: list[LanguageModel] = [model.model for model in models]
    parts += [_floor(name, models[0]) for name in floors]
    valid = _text(models[0], given, "valid", given.get("part"))
    mixture = _mixed(parts, valid, models[0], given)
    mixed = _with_story(mixture, models, given)
    mixed.path = out
    mixed.save(out)
    found = None if valid is None else evaluate(mixed, valid, path=str(out)).to_json()
    fitted = given["weights"] in FITTED
    return {
        "path": str(out),
        "parts": [*given["models"], *floors],
        "weights": mixture.weights.tolist(),
        "bins": None if mixture.bins is None else mixture.bins.ranges(),
        "valid": found,
        "weights_fitted_on_valid": fitted,
    }


def _floor(name: str, model: TextModel) -> Uniform:
    """Every token alike, or every token that the model's training text never holds."""
    if name == "uniform":
        return Uniform(model.model.vocab_size)
    if model.frequencies is None:
        raise InputError(f"--unseen: {model.path} does not say how often its training text holds each token")
    never = np.flatnonzero(model.frequencies == 0)
    if not len(never):
        raise InputError(f"--unseen: the training text of {model.path} holds every token; leave it out")
    return Uniform(model.model.vocab_size, never)


def _mixed(parts: Sequence[LanguageModel], valid: Corpus | None, model: TextModel, given: Mapping[str, Any]) -> Mixture:
    weights = given["weights"]
    if weights not in FITTED:
        return Mixture(parts, numbers(weights, len(parts)))
    if valid is None:
        raise InputError(f"--weights {weights}: are fitted to held-out text; give it with --valid")
    if weights == "learned":
        return Mixture.learned(parts, valid)
    part = "train" if given.get("part") and not given.get("train") else None
    source = "valid" if part else "train"
    train = _text(model, given, source, part)
    if train is None:
        raise InputError("--weights binned: bins count the contexts of the training text; give it with --train")
    return Mixture.binned(parts, valid, train)


def numbers(weights: str | Sequence[float], count: int) -> list[float]:
    """Weights as written on the command line, `0.5,0.5`, or as numbers; they are `count` and sum to 1."""
    try:
        given = (
            [float(word) for word in weights.split(",")] if isinstance(weights, str) else [float(w) for w in weights]
        )
    except ValueError:
        raise InputError(f"--weights {weights}: expected learned, binned, or numbers such as 0.5,0.5") from None
    if len(given) != count:
        raise InputError(f"--weights {weights}: expected {count} numbers, one a part, not {len(given)}")
    return given


def _text(model: TextModel, given: Mapping[str, Any], name: str, part: str | None) -> Corpus | None:
    texts = given.get(name)
    if not texts:
        return None
    how = {key: given[key] for key in ("field", "encoding", "errors") if given.get(key)}
    return text_part(model, Reading([texts] if isinstance(texts, str | Path) else texts, part, **how)).corpus


def _check_same(models: Sequence[TextModel]) -> None:
    first = models[0]
    for other in models[1:]:
        if other.tokenizer.hash != first.tokenizer.hash:
            raise InputError(
                f"{first.path} and {other.path} have different tokenizers ({first.tokenizer.name}, "
                f"{other.tokenizer.name}): only models of one tokenizer can be mixed (train with --tokenizer "
                f"{first.path}/tokenizer.json)"
            )
        if other.boundary != first.boundary:
            raise InputError(
                f"{first.path} has boundary {first.boundary!r}, {other.path} {other.boundary!r}: expected the same"
            )


def _with_story(mixture: Mixture, models: Sequence[TextModel], given: Mapping[str, Any]) -> TextModel:
    """The mixture with what its parts' directories agree on: their text and its split."""
    stories = [model.info.get("data") for model in models]
    told = [_text_of(story) for story in stories]
    info: dict[str, Any] = {
        "command": given.get("command"),
        "parts_from": [str(path) for path in given["models"]],
        "training": {"weights": given["weights"], "fitted_on": [str(text) for text in given.get("valid") or ()]},
        "versions": versions(),
    }
    if stories[0] and all(own == told[0] for own in told):
        info["data"] = stories[0]
    counts = next((model.frequencies for model in models if model.frequencies is not None), None)
    return TextModel(mixture, models[0].tokenizer, models[0].boundary, info, None, counts)


def _text_of(story: Mapping[str, Any] | None) -> Any:
    return None if not story else (story.get("texts"), story.get("split"))
