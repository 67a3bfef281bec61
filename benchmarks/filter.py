"""Filtering by perplexity: how well models tell clean text from seven corruptions of it, and how fast.

    python -m benchmarks.filter [--minutes 2]

Models are trained on Brown's sentences and judge held-out ones, clean and corrupted by script. Speed is of the whole
command on one core, reading, tokenizing, scoring and writing, in processor seconds; KenLM's is the plain loop of its
Python module over the same file. AUC is the chance that a corrupted sentence has the higher perplexity of two.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, parser, run, table
from benchmarks.texts import sentences
from neuralgram.exporting.arpa import Arpa
from neuralgram.numbers import spaced
from neuralgram.textmodel import load

ABOUT = "Perplexity filters on held-out sentences of Brown, clean and corrupted; one core, whole commands."
_LATIN = str.split(
    "lorem ipsum dolor sit amet consectetur adipisci velit sed quia non numquam eius modi tempora incidunt ut labore "
    "et dolore magnam aliquam quaerat voluptatem nemo enim ipsam quia voluptas aspernatur aut odit fugit"
)
_MENU = str.split(
    "Home About Contact Login Register Privacy Terms Cart Search Next Previous Share Tweet | » > Copyright 2024"
)
_KEYS = str.split("asdf jkl; qwer uiop zxcv bnm, asdfg hjkl qwerty fghj dfgh")
_KENLM = """
import sys, kenlm
model = kenlm.Model(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as lines, open(sys.argv[3], "w", encoding="utf-8") as out:
    for line in lines:
        line = line.rstrip("\\n")
        out.write(f"{model.perplexity(line):.6f}\\t{line}\\n")
"""

Line = list[str]


def shuffled(words: Line, rng: np.random.Generator) -> Line:
    """The words in another order."""
    return [words[i] for i in rng.permutation(len(words))]


def misread(words: Line, rng: np.random.Generator) -> Line:
    """One letter in twelve taken for another, as by a bad scan."""
    letters = np.array(list("eoatnliscrm1l0"))
    return [
        "".join(str(rng.choice(letters)) if c.isalpha() and rng.random() < 1 / 12 else c for c in word)
        for word in words
    ]


def truncated(words: Line, rng: np.random.Generator) -> Line:
    """Cut off in the middle, within a word."""
    place = int(rng.integers(2, max(3, len(words) - 1)))
    return [*words[:place], words[place % len(words)][:2]]


def repeated(words: Line, rng: np.random.Generator) -> Line:
    """The first few words over and over."""
    return (words[:4] * len(words))[: len(words)]


CORRUPTIONS: dict[str, Callable[[Line, np.random.Generator], Line]] = {
    "shuffled": shuffled,
    "misread": misread,
    "boilerplate": lambda words, rng: [str(w) for w in rng.choice(_MENU, len(words))],
    "Latin": lambda words, rng: [str(w) for w in rng.choice(_LATIN, len(words))],
    "mashed keys": lambda words, rng: [str(w) for w in rng.choice(_KEYS, len(words))],
    "truncated": truncated,
    "repeated": repeated,
}


class Row(NamedTuple):
    """What one program found: perplexities of all lines, and the processor seconds of its command."""

    values: NDArray[np.float64]
    seconds: float


def auc(clean: NDArray[np.float64], corrupted: NDArray[np.float64]) -> float:
    """P(a corrupted line has the higher value), ties half."""
    order = np.sort(clean)
    below, upto = np.searchsorted(order, corrupted, "left"), np.searchsorted(order, corrupted, "right")
    return float((below + upto).mean() / 2 / len(clean))


def _timed(command: list[str]) -> float:
    """Processor seconds of a command, its children among them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _neuralgram(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "neuralgram", *map(str, arguments)]


def _scored(model: Path, lines: Path, *options: str) -> Row:
    out = lines.with_suffix(".scored")
    seconds = _timed(_neuralgram("score", model, lines, "--out", out, "--jobs", 1, "--overwrite", *options))
    return Row(np.array([float(row.split("\t", 4)[3]) for row in out.read_text().splitlines()]), seconds)


def _kenlm(model: Path, lines: Path) -> Row:
    arpa, out = model.with_suffix(".arpa"), lines.with_suffix(".kenlm")
    Arpa.write(load(model), arpa)
    binary = model.with_suffix(".arpa")
    seconds = _timed([sys.executable, "-c", _KENLM, str(binary), str(lines), str(out)])
    loading = _timed([sys.executable, "-c", f"import kenlm; kenlm.Model({str(binary)!r})"])
    return Row(np.array([float(row.split("\t")[0]) for row in out.read_text().splitlines()]), seconds - loading)


def measure(setting: Setting) -> Sheet:
    """Train, corrupt, judge."""
    with tempfile.TemporaryDirectory() as name:
        return _measure(setting, Path(name))


def _measure(setting: Setting, folder: Path) -> Sheet:
    what, corpora = sentences(setting.quick)
    held_out = _lines(corpora, "valid", 200 if setting.quick else 4000)
    rng = np.random.default_rng(0)
    made = {"clean": held_out} | {n: [c(line, rng) for line in held_out] for n, c in CORRUPTIONS.items()}
    text, train = folder / "lines.txt", folder / "train.txt"
    text.write_text("".join(" ".join(line) + "\n" for lines in made.values() for line in lines))
    train.write_text("".join(" ".join(line) + "\n" for line in _lines(corpora, "train", None)))
    models = _models(setting, folder, train)
    rows = {f"Kneser–Ney {n}": _scored(models[f"kn{n}"], text) for n in (5, 3)}
    rows["network, without the sum"] = _scored(models["network"], text, "--unnormalized")
    rows["network, exact"] = _scored(models["network"], text)
    rows["mixture"] = _scored(models["mixture"], text)
    try:
        import kenlm  # noqa: F401  # only to see whether it is there

        rows |= {f"KenLM {n}, its Python loop": _kenlm(models[f"kn{n}"], text) for n in (5, 3)}
    except ImportError:
        pass
    return _sheet(what, made, rows, len(made) * len(held_out))


def _lines(corpora: object, part: str, most: int | None) -> list[Line]:
    """Sentences of at least five words, by their symbols; the rare ones are what the model takes for unknown."""
    tokenizer, corpus = corpora.tokenizer, corpora.part(part)  # type: ignore[attr-defined]
    symbols, ids = tokenizer.symbols(), np.asarray(corpus.ids)
    units = np.split(ids, np.flatnonzero(ids == corpus.boundary) + 1)[:-1]
    found = [[symbols[i] for i in unit[:-1]] for unit in units if len(unit) > 5]
    return found[:most]


def _models(setting: Setting, folder: Path, train: Path) -> dict[str, Path]:
    models = {name: folder / name for name in ("kn5", "kn3", "network", "mixture")}
    text = [train, "--boundary", "line", "--tokenizer", "words", "--min-count", 2]
    for order in (5, 3):
        subprocess.run(
            _neuralgram("train", "ngram", *text, "--out", models[f"kn{order}"], "--order", order), check=True
        )
    length = ["--steps", 20] if setting.quick else ["--max-time", 60 * setting.options.minutes]
    head = ["--head", "nce", "--head-option", f"samples={64 if setting.quick else 1024}", "--no-tie", "--threads", 1]
    subprocess.run(_neuralgram("train", "nplm", *text, "--out", models["network"], *head, *length), check=True)
    parts = [models["kn5"], models["network"], "--valid", train, "--part", "valid"]
    subprocess.run(_neuralgram("mix", *parts, "--out", models["mixture"]), check=True)
    return models


def _sheet(what: str, made: dict[str, list[Line]], rows: dict[str, Row], count: int) -> Sheet:
    size = count // len(made)
    found: dict[str, list[float]] = {}
    for name, row in rows.items():
        parts = row.values.reshape(len(made), size)
        found[name] = [auc(parts[0], part) for part in parts[1:]]
    headers = ["", "sentences/s", *list(made)[1:], "clean perplexity, median"]
    lines = [
        [name, spaced(count / row.seconds), *(f"{a:.3f}" for a in found[name]), f"{np.median(row.values[:size]):.1f}"]
        for name, row in rows.items()
    ]
    figures = []
    if "KenLM 5, its Python loop" in rows:
        peer, own, quick = rows["KenLM 5, its Python loop"], rows["Kneser–Ney 5"], rows["network, without the sum"]
        told = "filter: Kneser–Ney 5, the command over KenLM's Python loop, sentences/s"
        figures.append(Figure(8, told, peer.seconds / own.seconds, 1.5, precision=""))
        told = "filter: network without the sum over KenLM's Python loop, sentences/s"
        figures.append(Figure(8, told, peer.seconds / quick.seconds, 0.6, precision=""))
        gap = float(np.abs(np.log(peer.values) - np.log(own.values)).max())
        lines.append(
            [f"largest difference of the two Kneser–Ney 5, nats a token: {gap:.2g}"] + [""] * (len(headers) - 1)
        )
    text = f"{what}: {spaced(size)} sentences, clean and in {len(CORRUPTIONS)} corruptions; AUC of each."
    return Sheet([text, "", *table(headers, lines)], figures)


if __name__ == "__main__":
    options = parser(__doc__ or "")
    options.add_argument("--minutes", type=float, default=2.0, help="of training the network [2]")
    run(__file__, "Filtering", ABOUT, measure, options=options)
