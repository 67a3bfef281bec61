"""The exported page in a headless Chromium: its numbers against the package's own, for every kind of tokenizer."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from neuralgram.cli.export import command
from neuralgram.errors import InputError
from neuralgram.exporting.html import cost, quantise, rounded, to_html
from neuralgram.neural.nplm import NPLM
from neuralgram.ngram.add_k import AddK
from neuralgram.rng import PCG32
from neuralgram.text.corpora import build_corpora
from neuralgram.text.samples import SAMPLES
from neuralgram.text.sources import text_document
from neuralgram.textmodel import TextModel

TALE = SAMPLES["tales"](1_500, 1)
KINDS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "chars": ("stream", {}, {"direct": False}),
    "words": (
        "document",
        {"split_punctuation": True, "lowercase": True, "min_count": 9},
        {"tie": True, "d_hidden": 12},
    ),
    "bpe": ("line", {"vocab_size": 300}, {"d_hidden": [9, 8], "activation": "relu"}),
    "bytes": ("document", {}, {"d_hidden": []}),
}


def model_of(kind: str) -> TextModel:
    boundary, options, shape = KINDS[kind]
    made = build_corpora([text_document(TALE)], tokenizer=kind, options=options, boundary=boundary, split=None, seed=0)
    sizes = {"vocab": made.vocab_size, "context": 3, "d_emb": 6, "d_hidden": 10}
    net = NPLM(**(sizes | shape), rng=PCG32(4))
    for parameter in net.parameters():
        parameter.data.mul_(3)  # far from uniform, so that a wrong number shows
    return TextModel(net, made.tokenizer, boundary)


@pytest.fixture(scope="module", params=list(KINDS))
def model(request: pytest.FixtureRequest) -> TextModel:
    return model_of(request.param)


def test_quantising_is_within_half_a_step_of_every_weight():
    rng = np.random.default_rng(0)
    weight = np.vstack([rng.normal(size=(5, 7)), np.zeros((1, 7))]).astype(np.float32)
    scales, numbers = quantise(weight)
    assert numbers.dtype == np.int8
    assert np.abs(numbers).max() == 127
    assert (np.abs(weight - scales[:, None] * numbers) <= scales[:, None] * 0.5001).all()
    kept = rounded({"bias": weight[0]})["bias"]
    assert np.array_equal(kept, weight[0])


def test_the_cost_is_the_difference_of_two_perplexities(model: TextModel):
    text = TALE[:600].rsplit(" ", 1)[0]
    found = cost(model, text)
    lm: Any = model.model
    other = TextModel(NPLM.from_state(lm.config(), rounded(lm.state())), model.tokenizer, model.boundary)
    assert np.exp(found.exact) == pytest.approx(model.perplexity(text))
    assert np.exp(found.rounded) == pytest.approx(other.perplexity(text))
    assert found.tokens == len(model.score(text))


def test_the_page_stands_alone_and_states_its_cost(model: TextModel):
    page, measured = to_html(model, title="A <b>title</b> & @@DATA@@")
    assert measured.sentence in json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])["cost"]
    assert not re.search(r"(src|href)=[\"'](?!data:,)", page)
    assert "http" not in page.split("<script>")[1]
    assert "<b>" not in page
    assert len(page) < 5_000_000


def test_only_a_softmax_network_becomes_a_page():
    made = build_corpora([text_document(TALE)], tokenizer="chars", boundary="stream", split=None, seed=0)
    with pytest.raises(InputError, match="only a network"):
        to_html(TextModel(AddK.fit(made.train, 2, k=0.1), made.tokenizer, "stream"), title="counts")


def test_the_command_writes_measures_and_does_not_overwrite(tmp_path: Path):
    model_of("chars").save(tmp_path / "model")
    out = tmp_path / "page.html"
    arguments = [str(tmp_path / "model"), "--to", "html", "--out", str(out), "--json"]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    said = json.loads(result.stdout)
    assert said["bytes"] == out.stat().st_size
    assert said["tokens"] > 1000
    with pytest.raises(InputError, match="exists already"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_the_page_computes_what_the_package_does(model: TextModel, visit: Callable[..., Any], tmp_path: Path):
    """Ids, probabilities and surprisals in the browser, against the rounded network in the package."""
    file = tmp_path / "model.html"
    file.write_text(to_html(model, title="a model")[0], encoding="utf-8")
    page = visit(file.as_uri())
    page.locator("#bars button").first.wait_for()
    lm: Any = model.model
    other = TextModel(NPLM.from_state(lm.config(), rounded(lm.state())), model.tokenizer, model.boundary)
    text = TALE[:160].replace("\n", " ").rsplit(" ", 1)[0]
    ids = page.evaluate("text => encode(text)", text)
    assert ids == [int(i) for i in model.tokenizer.encode(text)]
    row = page.evaluate("text => Array.from(logProbs(windowOf(encode(text))))", text)
    expected = other.model.log_probs(other.window(text)[None, :])[0]
    assert np.abs(np.array(row) - expected).max() < 1e-4
    page.locator("#text").fill(text)
    scores = other.score(text)
    scored = scores[:-1] if model.boundary_id is not None else scores  # the page does not end the text
    said = page.locator("#perplexity").inner_text()
    assert said.startswith(f"{len(scored)} tokens scored")
    nats = sum(score.nats for score in scored) / len(scored)
    assert float(re.search(r"([\d.]+) nats", said)[1]) == pytest.approx(nats, abs=2e-4)
    assert page.evaluate("list => decode(list, '')", ids) == "".join(model.tokenizer.decode(ids))


def test_the_page_generates_with_the_published_generator(model: TextModel, visit: Callable[..., Any], tmp_path: Path):
    file = tmp_path / "model.html"
    file.write_text(to_html(model, title="a model")[0], encoding="utf-8")
    page = visit(file.as_uri())
    numbers = page.evaluate("() => { const rng = new PCG32(42); return Array.from({ length: 6 }, () => rng.next()); }")
    assert [f"{n:08x}" for n in numbers] == ["a15c02b7", "7b47f409", "ba1d3330", "83d2f293", "bfa4784b", "cbed606e"]
    before = page.locator("#text").input_value()
    page.get_by_role("button", name="Draw one").click()
    page.wait_for_function("before => document.getElementById('text').value !== before", arg=before)
    page.locator("#window select").last.select_option(index=2)
    page.locator("#bars button").first.click()
    assert "probability" in page.locator("#said").inner_text()
    weights = page.evaluate("() => Array.from(weighted([Math.log(0.5), Math.log(0.3), Math.log(0.2)], 0.5, 2))")
    assert weights == pytest.approx([25 / 34, 9 / 34, 0])


def test_weights_travel_as_little_endian_bytes():
    page, _ = to_html(model_of("chars"), title="t")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    bias = np.frombuffer(base64.b64decode(data["weights"]["out.bias"]["floats"]), "<f4")
    assert bias.shape == (data["V"],)
