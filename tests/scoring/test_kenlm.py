"""KenLM's interface over models of this house, held against KenLM itself and against its own rows."""

from __future__ import annotations

import copy
import gzip
import importlib
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import neuralgram as ng
from neuralgram import kenlm as ours
from neuralgram.errors import InputError

DATA = Path(__file__).parents[3] / "shared" / "data" / "kenlm"


@pytest.fixture(scope="module", params=[2, 3, 5])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ours.Model]:
    theirs = pytest.importorskip("kenlm")
    packed = DATA / f"brown3000.o{request.param}.arpa.gz"
    if not packed.exists():
        pytest.skip(f"{packed} is not here")
    path = tmp_path_factory.mktemp("arpa") / "model.arpa"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return theirs.Model(str(path)), ours.Model(str(path))


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("eos", [True, False])
def test_full_scores_are_kenlms(pair: tuple[object, ours.Model], bos: bool, eos: bool) -> None:
    theirs, model = pair
    for line in (DATA / "probe300.txt").read_text().splitlines()[:80]:
        expected, found = list(theirs.full_scores(line, bos, eos)), list(model.full_scores(line, bos, eos))  # type: ignore[attr-defined]
        assert [row[1:] for row in expected] == [tuple(row[1:]) for row in found]
        assert np.allclose([row[0] for row in expected], [row[0] for row in found], atol=2e-5, rtol=0)


def test_states_walk_as_kenlms_do(pair: tuple[object, ours.Model]) -> None:
    kenlm = pytest.importorskip("kenlm")
    theirs, model = pair
    for start in ("BeginSentenceWrite", "NullContextWrite"):
        theirs_in, theirs_out, ours_in, ours_out = kenlm.State(), kenlm.State(), ours.State(), ours.State()
        getattr(theirs, start)(theirs_in)
        getattr(model, start)(ours_in)
        for word in ["the", "jury", "said", "_unk_", "zebra", "in", "the", "end", "</s>"]:
            expected = theirs.BaseScore(theirs_in, word, theirs_out)  # type: ignore[attr-defined]
            assert model.BaseScore(ours_in, word, ours_out) == pytest.approx(expected, abs=2e-5)
            theirs_in, theirs_out, ours_in, ours_out = theirs_out, theirs_in, ours_out, ours_in


def test_sentences_at_once_and_words_known(pair: tuple[object, ours.Model]) -> None:
    theirs, model = pair
    lines = ["", *(DATA / "probe300.txt").read_text().splitlines()[:50]]
    assert np.allclose(model.scores(lines), [theirs.score(line) for line in lines], atol=1e-4)  # type: ignore[attr-defined]
    assert [model.perplexity(line) for line in lines] == pytest.approx(
        [theirs.perplexity(line) for line in lines], rel=1e-4
    )  # type: ignore[attr-defined]
    assert [word in model for word in ("the", "zebra", "</s>")] == [word in theirs for word in ("the", "zebra", "</s>")]  # type: ignore[operator]
    assert model.order == theirs.order  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["words", "network"])
def test_any_model_answers(name: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(name)
    model, text_model = ours.Model(str(path)), ng.load(path)
    for line in ("the cat sat", "", "a dog"):
        nats = math.fsum(token.nats for token in text_model.score(line or "\n"))
        assert model.score(line) == pytest.approx(-nats / math.log(10), abs=1e-5)
        state, after = ours.State(), ours.State()
        model.BeginSentenceWrite(state)
        total = 0.0
        for word in [*line.split(), "</s>"]:
            total += model.BaseScore(state, word, after)
            state, after = after, state
        assert total == pytest.approx(model.score(line), abs=1e-5)
    again = pickle.loads(pickle.dumps(model))
    assert again.score("the cat") == model.score("the cat")


def test_states_compare_and_copy() -> None:
    one, two = ours.State(), ours.State()
    one.ids = two.ids = (3, 4)
    assert one == two
    assert hash(one) == hash(two)
    assert copy.copy(one) == copy.deepcopy(one) == one
    two.ids = (3, 5)
    assert one != two
    assert one < two


def test_a_stream_has_no_sentences(tmp_path: Path) -> None:
    model = ng.NPLM(256, 2, 4, 4)
    ng.save_nplm(model, tmp_path / "m", "bytes")
    with pytest.raises(InputError, match="a stream has no start and end of sentences"):
        ours.Model(str(tmp_path / "m"))


def test_datatroves_own_code_runs_with_the_import_changed(words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datatrove")
    perplexity = importlib.import_module("datatrove.utils.perplexity")
    monkeypatch.setitem(sys.modules, "kenlm", ours)  # what `import kenlm` finds: ours
    monkeypatch.setattr(perplexity, "cached_asset_path_or_download", lambda path: str(words))

    class Spaces:
        def tokenize(self, text: str) -> str:
            return text

    model = perplexity.KenlmModel("any", "en")
    model._tokenizer = Spaces()
    found = model.get_perplexity("The cat sat on the mat")  # its normaliser lowers letters
    total = math.fsum(token.nats for token in ng.load(words).score("the cat sat on the mat"))
    assert found == round(math.exp(total / 7), 1)  # 6 words and the end
