"""The golden record: what this version computes, writes and prints, held against what was recorded before.

    python tests/golden.py --quick          everything but what takes long; which entries differ, and how
    python tests/golden.py --list [NAME…]   the entries
    python tests/golden.py --show NAME…     what was recorded of them
    python tests/golden.py --record NAME…   record entries anew, because a change was meant (NAME may end in *)

An entry is a function and a file in tests/golden/record. Whole numbers, strings and the order of tensors are
compared exactly; fractions to 6 digits; SHA-256 of tensors only with --exact, or where the machine is of the kind
that the record was made on. A JSON object may gain keys. No entry but those of `initial` and `trained` depends on how
a network's weights are drawn: training starts from weights drawn here, and commands read stored model directories.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import gzip
import hashlib
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import neuralgram as ng
from neuralgram.cli import main

HERE = Path(__file__).resolve().parent / "golden"
RECORD = HERE / "record"
STUDENT = HERE.parent / "checking" / "student.py"

# Where what is not public lives; a move of it is one line here.
HOMES = {
    "HEADS": "neuralgram.families",
    "ESTIMATORS": "neuralgram.families",
    "estimator": "neuralgram.ngram",
    "OPTIMISERS": "neuralgram.families",
    "SCHEDULES": "neuralgram.families",
    "AVERAGES": "neuralgram.families",
    "TrainConfig": "neuralgram.training.config",
    "fit": "neuralgram.training.fit",
}
TOLERANCE = {"weights": (2e-4, 1e-6), "ngrams": (2e-8, 1e-12)}  # relative, absolute; of the other families:
OTHERS = (2e-6, 1e-8)
DROPPED = {"seconds", "tokens_per_second", "validation_seconds", "versions", "threads"}
SLOW = {"lesson/story", "lesson/animals", "trained/demo", "command/check"}

ENTRIES: dict[str, Callable[[], Any]] = {}


def entry(name: str, make: Callable[[], Any]) -> None:
    assert name not in ENTRIES, name
    ENTRIES[name] = make


def home(name: str) -> Any:
    return getattr(import_module(HOMES[name]), name)


# ---- arrays as a few numbers ----


def digest(array: Any) -> list[Any]:
    """Dtype, shape, how many are not finite, Σ|a|, ‖a‖ (no cancellation spoils these), the last; or a hash of ids."""
    a = np.ascontiguousarray(array)
    if a.dtype.kind != "f":
        return [str(a.dtype), list(a.shape), _sha(a)]
    finite = a[np.isfinite(a)].astype(np.float64)
    sums = [np.abs(finite).sum(), np.linalg.norm(finite), *a.ravel()[-1:]]
    return [str(a.dtype), list(a.shape), int(a.size - finite.size), *map(number, sums)]


def _sha(*arrays: Any) -> str:
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()[:20]


def digests(state: dict[str, Any]) -> dict[str, Any]:
    tensors = {name: digest(value) for name, value in state.items()}
    return {"order": list(state), "tensors": tensors, "sha256": _sha(*state.values())}


def number(value: Any) -> Any:
    """9 significant digits; what JSON has no word for as a string."""
    value = float(value)
    return float(f"{value:.9g}") if math.isfinite(value) else str(value)


def plain(value: Any) -> Any:
    """A command's JSON without times, versions and this machine's paths."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in DROPPED}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return number(value)
    return value.replace(str(HERE), "GOLDEN") if isinstance(value, str) else value


# ---- training, from weights drawn here ----

V, C, M, H = 24, 2, 4, 6


def drawn(count: int, seed: int, low: float = -0.4, high: float = 0.4) -> np.ndarray:
    return low + (high - low) * np.array(list(_uniforms(seed, count)))


def _uniforms(seed: int, count: int) -> Iterator[float]:
    rng = ng.PCG32(seed)
    return (rng.uniform() for _ in range(count))


def ids(count: int, vocab: int, seed: int) -> np.ndarray:
    """Zipf-like ids with a pattern in them: every third follows from the one before."""
    u = drawn(count, seed, 0.0, 1.0)
    made = np.minimum((vocab**u - 1).astype(np.int64), vocab - 1)
    made[2::3] = (made[1::3][: len(made[2::3])] * 5 + 3) % vocab
    return made


def with_weights(model: Any, seed: int = 7) -> Any:
    """Trained parameters are drawn here; tables that a head makes of counts stay."""
    rng_state = dict(model.state())
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    for i, (name, p) in enumerate(trained):
        rng_state[name] = drawn(p.numel(), seed + i).reshape(tuple(p.shape)).astype(np.float32)
    model.load_state_dict(rng_state)
    return model


def network(**options: Any) -> Any:
    hidden, direct = options.pop("d_hidden", H), options.pop("direct", True)
    counts = np.bincount(ids(400, V, 1), minlength=V)
    return with_weights(ng.NPLM(V, C, options.pop("d_emb", M), hidden, direct, head_counts=counts, **options))


def fitted(model: Any, boundary: int | None = None, **settings: Any) -> dict[str, Any]:
    """A short run by the driver: its losses and the weights it ends with."""
    how = {
        "steps": 14,
        "batch_size": 16,
        "optimizer": "sgd",
        "lr": 0.2,
        "schedule": "constant",
        "eval_every": 7,
        "seed": 11,
    }
    config = home("TrainConfig")(**(how | settings), threads=1, precision="fp32")
    train, valid = (ng.Corpus(ids(n, V, seed), V, boundary) for n, seed in ((400, 1), (120, 2)))
    result = home("fit")(model, train, valid, config)
    history = [
        [point["step"], number(point["valid_loss"]), number(point["running_train_loss"])] for point in result.history
    ]
    contexts, targets = valid.windows(model.context).slice(0, 40)
    return {
        "first_loss": number(result.first_loss),
        "best_step": result.best_step,
        "history": history,
        "weights": digests(model.state()),
        "log_probs": digest(model.log_probs(contexts)),
        "nll": digest(model.context_nll(contexts, targets)),
    }


def refused(make: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except ng.NeuralgramError as error:
        return {"refused": f"{type(error).__name__}: {error}"}


HEAD_OPTIONS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "softmax-smoothing": {"smoothing": 0.1},
    "adaptive": {"cutoffs": [6, 14]},
    "tree": {},
    "sampled": {"samples": 8},
    "sampled-power": {"samples": 8, "power": 0.5, "smoothing": 0.05},
    "nce": {"samples": 8},
    "mos": {"components": 2},
}
SHAPES: dict[str, dict[str, Any]] = {
    "direct": {},
    "plain": {"direct": False},
    "tied": {"direct": False, "tie": True},
    "tied-direct": {"d_emb": H, "tie": True},
    "no-hidden": {"d_hidden": []},
    "two-layers": {"d_hidden": [6, 5]},
}
for head, options in HEAD_OPTIONS.items():
    for shape, sizes in SHAPES.items():

        def run_head(head: str = head, options: dict[str, Any] = options, sizes: dict[str, Any] = sizes) -> Any:
            return refused(lambda: fitted(network(head=head.split("-", maxsplit=1)[0], head_options=options, **sizes)))

        entry(f"weights/head-{head}-{shape}", run_head)

RUNS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sgd-momentum-decay-clip": ({}, {"momentum": 0.9, "weight_decay": 0.01, "clip": 0.5}),
    "adamw": ({}, {"optimizer": "adamw", "lr": 0.02}),
    "adamw-betas": ({}, {"optimizer": "adamw", "lr": 0.02, "betas": (0.8, 0.95), "epsilon": 1e-3, "weight_decay": 0.1}),
    "sparse-sgd": ({}, {"optimizer": "sparse-sgd", "weight_decay": 0.01}),
    "sparse-sgd-sampled": (
        {"head": "sampled", "head_options": {"samples": 8}},
        {"optimizer": "sparse-sgd", "clip": 1.0},
    ),
    "adagrad": ({}, {"optimizer": "adagrad", "lr": 0.1}),
    "adagrad-nce": (
        {"head": "nce", "head_options": {"samples": 8}},
        {"optimizer": "adagrad", "lr": 0.1, "weight_decay": 0.01},
    ),
    "paper": ({}, {"schedule": "paper", "decay_rate": 0.05}),
    "linear-warmup": ({}, {"schedule": "linear", "warmup": 0.3}),
    "cosine": ({}, {"schedule": "cosine"}),
    "ema": ({}, {"average": "ema", "average_decay": 0.9}),
    "tail": ({}, {"average": "tail", "average_tail": 0.5}),
    "sparse-tail": ({}, {"optimizer": "sparse-sgd", "average": "tail", "weight_decay": 0.01}),
    "boundary-rate": ({}, {"boundary": V - 1, "boundary_rate": 0.4}),
    "dropout": ({"dropout": 0.2, "dropout_input": 0.1}, {}),
    "epochs-patience": ({}, {"steps": None, "epochs": 3, "patience": 2, "lr": 0.5}),
    "valid-tokens": ({}, {"valid_tokens": 50}),
    "relu": ({"activation": "relu"}, {}),
    "sigmoid": ({"activation": "sigmoid", "d_hidden": [6, 5]}, {}),
    "identity": ({"activation": "identity"}, {}),
}
for name, (sizes, settings) in RUNS.items():

    def run_settings(sizes: dict[str, Any] = sizes, settings: dict[str, Any] = settings) -> Any:
        return fitted(network(**sizes), **settings)

    entry(f"weights/run-{name}", run_settings)


def simple(**settings: Any) -> dict[str, Any]:
    model = network(**settings.pop("sizes", {}))
    losses = ng.train_nplm(model, ids(400, V, 1), 15, 16, 0.1, ng.PCG32(5), **settings)
    return {"losses": [number(loss) for loss in losses], "weights": digests(model.state())}


entry("weights/train_nplm", simple)
entry("weights/train_nplm-all", lambda: simple(momentum=0.9, weight_decay=0.01, clip=0.5, sizes={"direct": False}))


def families() -> dict[str, Any]:
    """Each member that there was is still there (members may be added)."""
    return {
        name: dict.fromkeys(home(name), True) for name in ("HEADS", "ESTIMATORS", "OPTIMISERS", "SCHEDULES", "AVERAGES")
    }


entry("public/families", families)
entry("public/names", lambda: dict.fromkeys(ng.__all__, True))


def initial_weights(head: str, sizes: dict[str, Any]) -> dict[str, Any]:
    sizes = {"d_emb": M, "d_hidden": H, "direct": True} | sizes
    return digests(ng.NPLM(V, C, **sizes, head=head, rng=ng.PCG32(3)).state())


def initial() -> dict[str, Any]:
    made = {}
    for head in ("softmax", "adaptive", "tree", "sampled", "nce", "mos"):
        for shape, sizes in SHAPES.items():
            if head != "softmax" and shape not in ("direct", "tied"):
                continue
            made[f"{head}-{shape}"] = refused(initial_weights, head, sizes)
    return made


entry("initial/weights", initial)


def numpy_reference() -> dict[str, Any]:
    made: dict[str, Any] = {"free": [ng.nplm_params(V, M, C + 1, H, direct) for direct in (True, False)]}
    sizes = {"E": (V, M), "W1": (C * M, H), "b1": (H,), "W2": (H, V), "b2": (V,), "W3": (C * M, V)}
    params = {name: drawn(math.prod(shape), i).reshape(shape) for i, (name, shape) in enumerate(sizes.items())}
    contexts, targets = ng.windows(ids(60, V, 4), C)
    for name, given in (("direct", params), ("plain", {k: v for k, v in params.items() if k != "W3"})):
        loss, y = ng.nplm_loss(given, contexts, targets)
        made[name] = {"loss": number(loss), "y": digest(y), "grads": digests(ng.nplm_grads(given, contexts, targets))}
    return made


entry("public/reference", numpy_reference)


def generators() -> dict[str, Any]:
    rng = ng.PCG32(42)
    one = [rng.next_uint32() for _ in range(5)] + [int(v) for v in ng.PCG32(42, 7).uint32s(5)]
    sampled = ng.load("network").model.generate([0, 1, 2], 20, 0.8, seed=4)
    drawn_text = ng.load("network").generate("the cat", 30, sampling=ng.Sampling(0.9, top_k=5, top_p=0.95), seed=2)
    return {"draws": one, "generated": sampled, "text": "".join(drawn_text)}


entry("public/generators", generators)

# ---- counting ----

WORDS = 16
KN = ("kneser-ney", "modified-kneser-ney")
ESTIMATES: dict[str, tuple[str, dict[str, Any]]] = {
    "mle": ("mle", {}),
    "mle-floor": ("mle", {"floor": 0.01}),
    "longest-match": ("longest-match", {}),
    "longest-match-floor": ("longest-match", {"floor": 0.01}),
    "add-k": ("add-k", {"k": 0.1}),
    "add-k-tuned": ("add-k", {"valid": True}),
    "deleted-interpolation": ("deleted-interpolation", {"valid": True}),
    "deleted-interpolation-2": ("deleted-interpolation", {"valid": True, "iterations": 2}),
    "class": ("class", {"classes": 5}),
    "class-backoff": ("class", {"classes": 4, "form": "backoff", "sweeps": 2}),
    "class-tuned": ("class", {"classes": 5, "discounts": "tuned", "valid": True}),
}
for name in KN:
    ESTIMATES |= {
        name: (name, {}),
        f"{name}-backoff": (name, {"form": "backoff"}),
        f"{name}-unseen": (name, {"unigrams": "unseen"}),
        f"{name}-tuned": (name, {"discounts": "tuned", "valid": True}),
        f"{name}-pruned": (name, {"prune": (0, 0, 1)}),
        f"{name}-backoff-pruned": (name, {"form": "backoff", "prune": (0, 1)}),
        f"{name}-memory": (name, {"memory_limit": 1 << 20}),
    }
ESTIMATES["kneser-ney-given"] = ("kneser-ney", {"discounts": [0.5, 0.6, 0.7]})
ESTIMATES["modified-kneser-ney-given"] = ("modified-kneser-ney", {"discounts": [[0.5, 0.8, 1.1]] * 3})


def texts(boundary: bool) -> tuple[Any, Any]:
    """A training and a held-out corpus; lines of about nine tokens, or one stream."""
    made = []
    for count, seed in ((700, 21), (200, 22)):
        flat = ids(count, WORDS - 1 - 2, seed)  # two words are never seen
        if boundary:
            flat[8::9] = WORDS - 1
            flat[-1] = WORDS - 1
        made.append(ng.Corpus(flat, WORDS, WORDS - 1 if boundary else None))
    return made[0], made[1]


def counted(smoothing: str, options: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for boundary in (False, True):
        train, valid = texts(boundary)
        for order in (1, 2, 3, 5):
            made[f"{order}-{'lines' if boundary else 'stream'}"] = refused(
                one_model, smoothing, options, train, valid, order
            )
    return made


def one_model(smoothing: str, options: dict[str, Any], train: Any, valid: Any, order: int) -> dict[str, Any]:
    given = {name: valid if name == "valid" else value for name, value in options.items()}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = home("estimator")(smoothing).fit(train, order, **given)
    contexts, targets = valid.windows(model.context).slice(0, 150)
    stored = type(model).from_state(json.loads(json.dumps(model.config())), model.state())
    same = bool(np.array_equal(stored.log_probs(contexts[:9]), model.log_probs(contexts[:9])))
    return {
        "config": plain(model.config()),
        "state": digests(model.state()),
        "log_probs": digest(model.log_probs(contexts[:40])),
        "nll": digest(model.context_nll(contexts, targets)),
        "stored_is_same": same,
        "warned": sorted({str(w.message) for w in heard}),
    }


for name, (smoothing, options) in ESTIMATES.items():

    def run_estimate(smoothing: str = smoothing, options: dict[str, Any] = options) -> Any:
        return counted(smoothing, options)

    entry(f"ngrams/{name}", run_estimate)


def mixed(how: str) -> dict[str, Any]:
    made = {}
    for boundary in (False, True):
        train, valid = texts(boundary)
        fit = {name: home("estimator")(name).fit for name in ("kneser-ney", "add-k")}
        parts = [fit["kneser-ney"](train, 3), fit["add-k"](train, 2, k=0.1), ng.Uniform(WORDS)]
        if how == "fixed":
            model = ng.Mixture(parts, [0.5, 0.3, 0.2])
        elif how == "learned":
            model = ng.Mixture.learned(parts, valid)
        else:
            model = ng.Mixture.binned(parts, valid, train)
        contexts, targets = valid.windows(model.context).slice(0, 150)
        made["lines" if boundary else "stream"] = {
            "config": plain(model.config()),
            "state": digests(model.state()),
            "weights": [[number(w) for w in row] for row in model.weights],
            "log_probs": digest(model.log_probs(contexts[:40])),
            "nll": digest(model.context_nll(contexts, targets)),
        }
    return made


for how in ("fixed", "learned", "binned"):
    entry(f"ngrams/mixture-{how}", lambda how=how: mixed(how))

# ---- commands, in a copy of tests/golden/dirs ----


def call(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            main(list(arguments))
        except SystemExit as ended:
            code = ended.code or 0
    return code, out.getvalue(), err.getvalue()


def command(*arguments: str) -> dict[str, Any]:
    code, out, err = call(*arguments, "--json")
    if code not in (0, 1):
        return {"exit": code, "error": err.strip().splitlines()[-1] if err.strip() else ""}
    return {"exit": code, "json": plain(json.loads(out))}


NETWORKS = ("network", "tied-bpe", "mos-two-layers", "adaptive", "tree", "sampled", "nce")
COUNTING = ("mle", "add-k", "longest-match", "deleted-interpolation", "kneser-ney", "modified-kneser-ney", "class")
MIXTURES = ("mixture", "binned")
WINDOW = {"tied-bpe": ("the hen", " "), "mos-two-layers": ("the dog ", "a")}
TEXT = "../held-out.txt"

for model in (*NETWORKS, *COUNTING, *MIXTURES):
    context, target = WINDOW.get(model, ("the cat ate the", "fish"))
    entry(f"info/{model}", lambda model=model: command("info", model))
    entry(f"eval/{model}", lambda model=model: command("eval", model, TEXT))
    entry(f"predict/{model}", lambda model=model, context=context: command("predict", model, context, "-k", "4"))
    entry(
        f"generate/{model}",
        lambda model=model, context=context: command(
            "generate", model, context, "-n", "25", "--seed", "6", "--top-p", "0.95"
        ),
    )
    entry(
        f"trace/{model}",
        lambda model=model, context=context, target=target: command(
            "trace", model, context, "--target", target, "--top", "2", "--units", "2"
        ),
    )
for model in ("network", "tied-bpe", "mos-two-layers", "adaptive"):
    context, target = WINDOW.get(model, ("the cat ate the", "fish"))
    step = ("--lr", "0.1", "--top", "2", "--units", "2", "--gradient", "H", "--check", "H[0][1]")
    entry(
        f"trace/step-{model}",
        lambda model=model, context=context, target=target, step=step: command(
            "trace", model, context, "--target", target, *step
        ),
    )
for model in NETWORKS:
    entry(f"health/{model}", lambda model=model: command("info", model, TEXT))
entry(
    "trace/opened",
    lambda: command("trace", "network", "the cat ate the", "--target", "fish", "--open", "a[0]", "--open", "p[fish]"),
)

COMMANDS: dict[str, tuple[str, ...]] = {
    "eval-three": ("eval", "network", "modified-kneser-ney", "mixture", TEXT),
    "eval-tokens": ("eval", "network", TEXT, "--tokens"),
    "eval-bpe-and-words": ("eval", "tied-bpe", "network", TEXT),
    "eval-arpa": ("eval", "words.arpa", TEXT),
    "eval-arpa-gz": ("eval", "words.arpa.gz", TEXT),
    "eval-part": ("eval", "mos-two-layers", "../animals.txt", "--part", "test"),
    "predict-arpa": ("predict", "words.arpa", "the cat ate the"),
    "trace-arpa": ("trace", "words.arpa", "the cat ate the", "--target", "fish"),
    "predict-unknown": ("predict", "network", "the zebra ate the"),
    "neighbors": ("neighbors", "network", "cat", "-k", "5"),
    "neighbors-euclidean": ("neighbors", "network", "cat", "-k", "5", "--metric", "euclidean"),
    "generate-greedy": ("generate", "network", "the", "-n", "12", "--temperature", "0"),
    "generate-top-k": ("generate", "modified-kneser-ney", "", "-n", "12", "--top-k", "3", "--no-unknown"),
    "mix-given": ("mix", "network", "kneser-ney", "--out", "made", "--overwrite", "--weights", "0.25,0.75"),
    "mix-learned": ("mix", "network", "kneser-ney", "class", "--out", "made", "--overwrite", "--valid", TEXT),
    "mix-binned": (
        "mix",
        "network",
        "kneser-ney",
        "--out",
        "made",
        "--overwrite",
        "--weights",
        "binned",
        "--valid",
        TEXT,
        "--train",
        "../animals.txt",
    ),
    "mix-uniform": ("mix", "mle", "--uniform", "--out", "made", "--overwrite", "--valid", TEXT),
    "lessons": ("lesson",),
    "lesson-changed": ("lesson", "five-words", "--set", "H[0][1]=0.3", "--set", "window[1]=dog"),
    "check": ("check", "../student.py"),
}
TRAINED_ON = ("train", "ngram", "../animals.txt", "--out", "made", "--overwrite", "--tokenizer", "words")
for smoothing in COUNTING:
    more = ("--classes", "5") if smoothing == "class" else ()
    COMMANDS[f"train-ngram-{smoothing}"] = (
        *TRAINED_ON,
        "--boundary",
        "line",
        "--valid",
        TEXT,
        "--smoothing",
        smoothing,
        "--order",
        "3",
        *more,
    )
COMMANDS |= {
    "train-ngram-pruned": (*TRAINED_ON, "--split", "0.8,0.1,0.1", "--prune", "0,0,1", "--form", "backoff"),
    "train-ngram-tuned": (*TRAINED_ON, "--valid", TEXT, "--discounts", "tuned", "--unigrams", "unseen", "--order", "3"),
    "train-ngram-bpe": (
        "train",
        "ngram",
        "../story.txt",
        "--out",
        "made",
        "--overwrite",
        "--tokenizer",
        "bpe",
        "--vocab-size",
        "270",
    ),
    "train-ngram-chars": (
        "train",
        "ngram",
        "../story.txt",
        "--out",
        "made",
        "--overwrite",
        "--tokenizer",
        "chars",
        "--boundary",
        "stream",
    ),
    "train-ngram-auto": ("train", "ngram", "../story.txt", "--out", "made", "--overwrite"),
}
for name, arguments in COMMANDS.items():
    entry(f"command/{name}", lambda arguments=arguments: command(*arguments))
for name in ng.LESSONS:
    entry(f"lesson/{name}", lambda name=name: command("lesson", name))


def exported(*arguments: str) -> dict[str, Any]:
    found = command("export", *arguments, "--overwrite")
    path = Path(arguments[arguments.index("--out") + 1])
    data = path.read_bytes()
    if path.suffix == ".html":
        text = data.decode()
        return {**found, "starts": text[:60], "one_file": "http" not in text.replace("http://www.w3.org", "")}
    lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()
    return {
        **found,
        "head": lines[:8],
        "lines": len(lines),
        "text": hashlib.sha256("\n".join(lines).encode()).hexdigest()[:20],
    }


for model in ("network", "tied-bpe", "mos-two-layers"):
    entry(
        f"export/html-{model}",
        lambda model=model: exported(model, "--to", "html", "--out", "made.html", "--text", TEXT),
    )
entry("export/arpa", lambda: exported("modified-kneser-ney", "--to", "arpa", "--out", "made.arpa"))
entry("export/arpa-gz", lambda: exported("kneser-ney", "--to", "arpa", "--out", "made.arpa.gz"))


def options() -> dict[str, Any]:
    """Every option of every command; options may be added."""
    made = {}
    for words in (
        ["train", "nplm"],
        ["train", "ngram"],
        *(
            [c]
            for c in (
                "eval",
                "mix",
                "predict",
                "generate",
                "info",
                "trace",
                "neighbors",
                "lesson",
                "check",
                "reproduce",
                "explore",
                "export",
                "demo",
            )
        ),
    ):
        out = call(*words, "--help")[1]
        found = [
            w
            for line in out.splitlines()
            if line.startswith("  -")
            for w in re.findall(r"(?<!\S)--[a-z][\w-]*", line.split("  ")[1].replace("/", " "))
        ]
        made[" ".join(words)] = dict.fromkeys(found, True)
    return made


entry("command/options", options)

REFUSALS: dict[str, tuple[str, ...]] = {
    "no-model": ("eval", "nothing", TEXT),
    "no-text": ("eval", "network", "nothing.txt"),
    "not-alike": ("mix", "network", "tied-bpe", "--out", "new", "--weights", "0.5,0.5"),
    "weights": ("mix", "network", "kneser-ney", "--out", "new", "--weights", "0.5,0.6"),
    "alone": ("mix", "network", "--out", "new"),
    "neighbors-of-counts": ("neighbors", "kneser-ney", "cat"),
    "neighbors-unknown": ("neighbors", "network", "zebra"),
    "trace-short": ("trace", "mos-two-layers", "a"),
    "trace-lr": ("trace", "network", "the cat ate", "--lr", "0.1"),
    "trace-open": ("trace", "network", "the cat ate", "--target", "the", "--open", "Q[0]"),
    "lesson": ("lesson", "nothing"),
    "arpa-of-network": ("export", "network", "--to", "arpa", "--out", "new"),
    "html-of-counts": ("export", "kneser-ney", "--to", "html", "--out", "new"),
    "smoothing": ("train", "ngram", "../animals.txt", "--out", "new", "--smoothing", "none"),
    "k": ("train", "ngram", "../animals.txt", "--out", "new", "--smoothing", "kneser-ney", "--k", "1"),
    "order": ("train", "ngram", "../animals.txt", "--out", "new", "--order", "0"),
    "head": ("train", "nplm", "../animals.txt", "--out", "new", "--head", "none"),
    "head-option": ("train", "nplm", "../animals.txt", "--out", "new", "--head-option", "samples=3"),
    "optimizer": ("train", "nplm", "../animals.txt", "--out", "new", "--optimizer", "none"),
    "schedule": ("train", "nplm", "../animals.txt", "--out", "new", "--schedule", "none"),
    "average": ("train", "nplm", "../animals.txt", "--out", "new", "--average", "none-such"),
    "dropout": ("train", "nplm", "../animals.txt", "--out", "new", "--dropout", "1"),
    "lengths": ("train", "nplm", "../animals.txt", "--out", "new", "--steps", "3", "--epochs", "1"),
    "lr": ("train", "nplm", "../animals.txt", "--out", "new", "--lr", "-1"),
    "d-hidden": ("train", "nplm", "../animals.txt", "--out", "new", "--d-hidden", "x"),
    "exists": ("train", "nplm", "../animals.txt", "--out", "network"),
    "no-run": ("train", "nplm", "../animals.txt", "--out", "network", "--resume"),
    "temperature": ("generate", "network", "the", "--temperature", "-1"),
    "top-p": ("generate", "network", "the", "--top-p", "0"),
    "tokenizer": ("train", "ngram", "../animals.txt", "--out", "new", "--tokenizer", "none"),
    "split": ("train", "ngram", "../animals.txt", "--out", "new", "--split", "0.9,0.9"),
    "part": ("eval", "network", "../animals.txt", "--part", "test"),
}
entry("command/refusals", lambda: {name: command(*arguments) for name, arguments in REFUSALS.items()})

# ---- what the last version wrote ----


def loaded(path: str) -> dict[str, Any]:
    text_model = ng.load(path)
    model = text_model.model
    sample = Path(TEXT).read_text()
    scores = text_model.score(sample)
    corpus = text_model.corpus(sample)
    rows = model.log_probs(corpus.windows(model.context).slice(0, 9)[0])
    state = digests(model.state()) if hasattr(model, "state") else None
    return {
        "nll": digest(np.array([s.nats if hasattr(s, "nats") else s[1] for s in scores], np.float64))
        if scores
        else None,
        "log_probs": digest(rows),
        "state": state,
        "perplexity": number(text_model.perplexity(sample)),
    }


for model in (*NETWORKS, *COUNTING, *MIXTURES, "words.arpa", "words.arpa.gz"):
    entry(f"directory/{model}", lambda model=model: loaded(model))


def saved_again() -> dict[str, Any]:
    """The files that saving writes, by their hashes: formats and the order of tensors."""
    made: dict[str, Any] = {}
    for model in (*NETWORKS, *COUNTING, *MIXTURES):
        ng.load(model).save("again")
        files = sorted(p for p in Path("again").rglob("*") if p.is_file() and p.name != "neuralgram.json")
        made[model] = {str(p.relative_to("again")): hashlib.sha256(p.read_bytes()).hexdigest()[:20] for p in files}
        story = json.loads(Path("again/neuralgram.json").read_text())
        made[model]["story"] = {key: story[key] for key in ("format", "kind", "model", "boundary", "tokenizer")}
        shutil.rmtree("again")
    return made


entry("directory/saved", saved_again)

RESUMED = (
    *("train", "nplm", "../animals.txt", "--tokenizer", "words", "--boundary", "line", "--valid", TEXT),
    *("--lowercase", "--split-punctuation", "--steps", "60", "--batch-size", "16", "--threads", "1", "--seed", "5"),
    *("--precision", "fp32", "--device", "cpu", "--eval-every", "10", "--context", "2", "--d-emb", "4"),
    *("--d-hidden", "6", "--optimizer", "adamw", "--lr", "0.02", "--average", "ema", "--dropout", "0.1"),
    *("--out", "interrupted", "--resume"),
)


def resumed() -> dict[str, Any]:
    """A run that was stopped at step 30 ends where the run that was never stopped ended."""
    found = command(*RESUMED)
    return {**found, "weights": digests(ng.load("interrupted").model.state())}


entry("directory/resumed", resumed)

# ---- what depends on the initial weights ----

TRAIN = (
    "train",
    "nplm",
    "../animals.txt",
    "--out",
    "made",
    "--overwrite",
    "--threads",
    "1",
    "--precision",
    "fp32",
    "--device",
    "cpu",
)
entry(
    "trained/words",
    lambda: command(
        *TRAIN,
        "--steps",
        "40",
        "--tokenizer",
        "words",
        "--boundary",
        "line",
        "--valid",
        TEXT,
        "--d-emb",
        "4",
        "--d-hidden",
        "6",
    ),
)
entry("trained/auto", lambda: command(*TRAIN, "--steps", "20"))
entry(
    "trained/tree",
    lambda: command(
        *TRAIN,
        "--steps",
        "20",
        "--head",
        "tree",
        "--average",
        "tail",
        "--optimizer",
        "adagrad",
        "--lr",
        "0.1",
        "--d-hidden",
        "8,8",
    ),
)
entry("trained/demo", lambda: command("demo", "--out", "made-demo"))


# ---- holding it ----


def machine() -> dict[str, str]:
    """What decides the last bits of a float."""
    import torch

    model = next((line for line in _cpuinfo() if line.startswith("model name")), "").split(":")[-1].strip()
    return {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "cpu": model,
        "isa": torch.backends.cpu.get_cpu_capability(),
    }


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def differences(name: str, was: Any, now: Any, *, exact: bool) -> list[str]:
    """Where `now` is not what was recorded, in a line each."""
    family = name.split("/", maxsplit=1)[0]
    rtol, atol = TOLERANCE.get(family, OTHERS)
    return list(_differ("", was, now, rtol, atol, exact))


def _differ(at: str, was: Any, now: Any, rtol: float, atol: float, exact: bool) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key, value in was.items():
            if key == "sha256" and not exact:
                continue
            if key not in now:
                yield f"{at}.{key}: gone"
            else:
                yield from _differ(f"{at}.{key}", value, now[key], rtol, atol, exact)
    elif isinstance(was, list) and isinstance(now, list):
        if len(was) != len(now):
            yield f"{at}: {len(was)} items, now {len(now)}"
        for i, (a, b) in enumerate(zip(was, now, strict=False)):
            yield from _differ(f"{at}[{i}]", a, b, rtol, atol, exact)
    elif isinstance(was, (int, float)) and isinstance(now, (int, float)) and not isinstance(was, bool):
        if abs(was - now) > atol + rtol * abs(was):
            yield f"{at}: {was!r}, now {now!r}"
    elif was != now:
        yield f"{at}: {_short(was)}, now {_short(now)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 160 else text[:160] + "…"


@contextlib.contextmanager
def workplace() -> Iterator[None]:
    """A copy of the stored texts and directories, and one thread, while entries are made."""
    import torch

    before, threads = Path.cwd(), torch.get_num_threads()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("animals.txt", "held-out.txt", "story.txt"):
            shutil.copy(HERE / name, folder)
        shutil.copy(STUDENT, folder)
        shutil.copytree(HERE / "dirs", Path(folder) / "dirs")
        os.chdir(Path(folder) / "dirs")
        torch.set_num_threads(1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            torch.set_num_threads(threads)
            os.chdir(before)


def recorded(name: str) -> Any:
    """What was recorded of an entry, or None."""
    for path in (RECORD / f"{name}.json", RECORD / f"{name}.json.gz"):
        if path.exists():
            return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    return None


def check(name: str, *, exact: bool) -> list[str]:
    """The differences of one entry; call it inside `workplace`."""
    was = recorded(name)
    if was is None:
        return [f"no record; make one with: python tests/golden.py --record {name}"]
    try:
        now = json.loads(json.dumps(ENTRIES[name]()))
    except Exception as error:  # whatever breaks an entry is a difference to report
        return [f"{type(error).__name__}: {error}"]
    return differences(name, was, now, exact=exact)


def record(name: str) -> None:
    data = (json.dumps(ENTRIES[name](), ensure_ascii=False, separators=(",", ":")) + "\n").encode()
    small, large = RECORD / f"{name}.json", RECORD / f"{name}.json.gz"
    small.parent.mkdir(parents=True, exist_ok=True)
    for path in (small, large):
        path.unlink(missing_ok=True)
    if len(data) <= 1500:
        small.write_bytes(data)
    else:
        large.write_bytes(gzip.compress(data, mtime=0))
    print(f"recorded {name}")


def selected(patterns: list[str], quick: bool) -> list[str]:
    names = [name for name in ENTRIES if not patterns or any(fnmatch.fnmatch(name, p) for p in patterns)]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            sys.exit(f"no entry {pattern!r}; see --list")
    return [name for name in names if not (quick and name in SLOW)]


def run(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="entries, or patterns such as weights/*; all by default")
    parser.add_argument("--quick", action="store_true", help="leave out what takes long")
    parser.add_argument("--exact", action="store_true", help="compare hashes of float tensors too, on any machine")
    parser.add_argument("--record", action="store_true", help="record the named entries anew")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--show", action="store_true", help="print what was recorded")
    given = parser.parse_args(arguments)
    names = selected(given.names, given.quick)
    if given.list:
        print("\n".join(names))
        return 0
    if given.show:
        print("\n".join(f"{name}\n{json.dumps(recorded(name), indent=1, ensure_ascii=False)}" for name in names))
        return 0
    if given.record and not given.names:
        parser.error("--record needs the names of the entries that were meant to change ('*' for all)")
    made_on = RECORD / "machine.json"
    exact = given.exact or (made_on.exists() and json.loads(made_on.read_text()) == machine())
    failed = 0
    with workplace():
        for name in names:
            if given.record:
                record(name)
                continue
            found = check(name, exact=exact)
            failed += bool(found)
            if found:
                print(f"{name}: {len(found)} differences")
                print("\n".join(f"    {line}" for line in found[:6]))
    if given.record:
        if "*" in given.names:
            made_on.write_text(json.dumps(machine()) + "\n")
        return 0
    print(f"golden record: {len(names) - failed} of {len(names)} entries hold{' (hashes too)' if exact else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run())
