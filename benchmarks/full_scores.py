"""Scoring a text with a counting model: this package beside KenLM's Python module.

    python -m benchmarks.full_scores [--rounds 9]

Modified Kneser–Ney, order 5, counted here and handed to KenLM as an ARPA file; both then score the same held-out
sentences, each after a start symbol and with its end, on one thread: `score` over all windows at once, and
`full_scores`, a sentence a call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, parser, run, table
from benchmarks.texts import sentences
from neuralgram.errors import NeuralgramError
from neuralgram.exporting.arpa import Arpa
from neuralgram.ngram import fit
from neuralgram.ngram.arpa import escape
from neuralgram.ngram.arpa_reader import UNKNOWN
from neuralgram.numbers import spaced
from neuralgram.text.corpora import Corpora
from neuralgram.textmodel import TextModel

ORDER = 5
LN10 = float(np.log(10))
WHAT = "peer: modified Kneser–Ney, order 5: `score` over KenLM's `full_scores`, tokens/s"
ABOUT = f"Modified Kneser–Ney, order {ORDER}, exported as ARPA; the same sentences, ends among the tokens."


def written(model: TextModel, corpora: Corpora) -> list[str]:
    """The held-out sentences as KenLM reads them: the symbols of the ARPA file between spaces."""
    unknown = model.tokenizer.unknown
    symbols = [UNKNOWN if i == unknown else escape(symbol) for i, symbol in enumerate(model.tokenizer.symbols())]
    ids = np.asarray(corpora.part("valid").ids)
    ends = np.flatnonzero(ids == model.boundary_id)
    return [" ".join(symbols[i] for i in unit) for unit in np.split(ids, ends + 1)[:-1] for unit in [unit[:-1]]]


def loaded(model: TextModel) -> Any:
    """KenLM's model, through a file that is gone afterwards."""
    import kenlm

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        Arpa.write(model, path)
        return kenlm.Model(str(path), config)


def measure(setting: Setting) -> Sheet:
    """Both, where KenLM is installed."""
    try:
        import kenlm  # noqa: F401  # only to see whether it is there
    except ImportError:
        note = "not measured: the kenlm module is not installed"
        return Sheet([f"{note.capitalize()}."], [Figure(5, WHAT, None, precision="", note=note)])
    name, corpora = sentences(setting.quick)
    counted = fit("modified-kneser-ney", corpora.train, 3 if setting.quick else ORDER)
    model = TextModel(counted, corpora.tokenizer, "line")
    theirs, lines = loaded(model), written(model, corpora)
    windows = corpora.part("valid").windows(counted.context)
    steps: dict[str, Callable[[], Any]] = {
        "neuralgram, `score`": lambda: counted.score(windows),
        "KenLM, `full_scores`": lambda: [score for line in lines for score in theirs.full_scores(line)],
    }
    ours, peer = counted.score(windows), np.array([log10 for log10, *_ in steps["KenLM, `full_scores`"]()]) * -LN10
    check(ours, peer)
    seconds = setting.in_turn(steps)
    speed = {scorer: len(windows) / taken for scorer, taken in seconds.items()}
    rows = [
        [scorer, spaced(v), f"{np.exp(nats.mean()):.2f}"]
        for (scorer, v), nats in zip(speed.items(), (ours, peer), strict=True)
    ]
    text = (
        f"{name}: {spaced(len(corpora.train))} tokens counted, {spaced(len(windows))} scored, "
        f"V {spaced(counted.vocab_size)}."
    )
    ratio = seconds["KenLM, `full_scores`"] / seconds["neuralgram, `score`"]
    return Sheet([text, "", *table(["", "tokens/s", "perplexity"], rows)], [Figure(5, WHAT, ratio, precision="")])


def check(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> None:
    """Both must score the same tokens alike, or their speeds mean nothing; KenLM keeps single precision."""
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-4, atol=1e-4):
        gap = "in number" if ours.shape != theirs.shape else f"by up to {np.abs(ours - theirs).max():.3g} nats"
        raise NeuralgramError(f"scores of the two programs differ {gap}: expected the same model and text")


if __name__ == "__main__":
    run(__file__, "Counting models' scores", ABOUT, measure, options=parser(__doc__))
