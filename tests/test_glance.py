"""A model at a glance, at a prompt and in a notebook: the sizes are those of its arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest

from neuralgram.families import ESTIMATORS
from neuralgram.mixture import Mixture, Uniform
from neuralgram.ngram import fit
from neuralgram.text.windows import Corpus

IDS = np.array([0, 1, 2, 0, 1, 3, 0, 1, 2, 4] * 3)
CORPUS = Corpus(IDS, 1200, None)
PAIRS = len(set(zip(IDS.tolist(), IDS.tolist()[1:], strict=False)))


def rows(html: str) -> dict[str, str]:
    """The table's rows by their heads."""
    return dict(re.findall(r"<tr><th[^>]*>(.*?)</th><td>(.*?)</td></tr>", html))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_counting_models(name: str) -> None:
    options = {"k": 0.5} if name == "add-k" else {"valid": CORPUS} if name == "deleted-interpolation" else {}
    model = fit(name, CORPUS, 2, **options)
    shown = rows(model._repr_html_())
    assert shown["vocabulary"] == "1 200 tokens"
    assert shown["smoothing"] == name
    if name == "class":  # its n-grams are of classes: one for each of the five words, the classes of the text's pairs
        assert shown["classes"] == "5"
        assert shown["n-grams"] == str(5 + PAIRS)
    else:
        assert (shown["order 1"], shown["order 2"]) == ("1 200 n-grams", f"{PAIRS} n-grams")
        assert repr(model) == f"<{type(model).__name__}: V 1 200, context 1, 1 {200 + PAIRS} n-grams>"


def test_a_network() -> None:
    torch = pytest.importorskip("torch")
    from neuralgram import NPLM

    net = NPLM(1200, 3, 4, 20, head="adaptive")
    total = sum(p.numel() for p in net.parameters())
    size = f"{total // 1000} {total % 1000:03}"
    assert repr(net) == f"<NPLM: V 1 200, context 3, d_emb 4, d_hidden 20, head adaptive, {size} parameters>"
    shown = rows(net._repr_html_())
    assert shown["parameters"] == size
    assert shown["emb.weight"] == "1 200 × 4"
    assert shown["hidden.weight"] == "20 × 12"
    assert (shown["direct"], shown["activation"]) == ("yes", "tanh")
    assert len(rows(NPLM(50, 2, 2, [3] * 30)._repr_html_())) < 30  # one screen
    assert isinstance(net, torch.nn.Module)


def test_mixtures_and_text_models(tmp_path) -> None:
    from neuralgram.text.tokenizers import tokenizer_class
    from neuralgram.textmodel import TextModel

    tokenizer = tokenizer_class("chars").train(["abc<&"])
    ids = tokenizer.encode("abcab<&")
    V = tokenizer.vocab_size
    parts = [fit("add-k", Corpus(ids, V, None), 2, k=0.5), Uniform(V)]
    mixture = Mixture(parts, [0.75, 0.25])
    assert repr(mixture) == f"<Mixture: V {V}, context 1, 0.7500·{parts[0]!r} + 0.2500·{parts[1]!r}>"
    shown = rows(mixture._repr_html_())
    assert shown["part 1, 0.7500"] == repr(parts[0]).replace("<", "&lt;").replace(">", "&gt;")
    assert "part 2, 0.2500" in shown
    model = TextModel(mixture, tokenizer, path=tmp_path / "<m>")
    shown = rows(model._repr_html_())
    assert (shown["tokenizer"], shown["boundary"]) == ("chars", "stream")
    assert shown["directory"].endswith("&lt;m&gt;")


def test_a_model_that_is_not_made_yet_has_a_line_too() -> None:
    assert repr(Uniform.__new__(Uniform)) == "<Uniform, unfinished>"
