"""What the views show, without a browser: numbers against the equations written out, figures as published."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from neuralgram.errors import InputError
from neuralgram.mixture import Mixture
from neuralgram.neural.nplm import NPLM
from neuralgram.neural.reference import nplm_grads
from neuralgram.ngram.add_k import AddK
from neuralgram.rng import PCG32
from neuralgram.sampling import Sampling
from neuralgram.serving.explorer.animals import Animals, alike, along, row_gradients, steps, windows_with
from neuralgram.serving.explorer.reading import LONGEST, candidates, own_words, read
from neuralgram.serving.explorer.run import Meter, Run
from neuralgram.serving.explorer.session import Session
from neuralgram.serving.explorer.settings import DEFAULTS, Limits
from neuralgram.serving.explorer.snapshot import Snapshot, five_words
from neuralgram.serving.explorer.texts import prepare
from neuralgram.text.tokenizers import Chars, Words
from neuralgram.textmodel import TextModel


@pytest.fixture(scope="module")
def animals() -> Session:
    session = Session()
    session.read(DEFAULTS["animals"])
    session.start().run_to(300)
    return session


# ---- the animals: FACTS 2f ----


def test_the_sheep(animals: Session):
    page = Animals(animals.ready, 3, 3)
    bars = {bar.word: bar for bar in page.bars(animals.snapshot(), "sheep")}
    assert page.used("sheep") == "ate the"
    assert page.used("cow") == "cow ate the"
    assert bars["fish"].counting + bars["meat"].counting == pytest.approx(0.6, abs=0.03)
    assert bars["grass"].network + bars["hay"].network > 0.85


def test_the_sheep_moves_towards_cow_and_goat(animals: Session):
    page = Animals(animals.ready, 3, 3)
    shots = list(animals.run.kept)
    page.follow(shots[:10])
    page.follow(shots)
    assert [d.step for d in page.distances] == [shot.step for shot in shots]
    assert page.distances[-1].grazers < page.distances[-1].hunters / 2
    C = shots[-1].embeddings
    at = {name: int(animals.ready.tokenizer.encode(name)[0]) for name in ("sheep", "cow", "goat")}
    mean = (math.dist(C[at["sheep"]], C[at["cow"]]) + math.dist(C[at["sheep"]], C[at["goat"]])) / 2
    assert page.distances[-1].grazers == pytest.approx(mean)
    first = page.pulls(shots)
    again = Animals(animals.ready, 3, 3)
    again.follow(shots)
    assert again.distances == page.distances
    assert again.pulls(shots) == first  # looked at once or often, the sums are the same
    assert first[0].so_far > 0  # what pulled most pulled the way the sheep went
    assert sum(pull.so_far for pull in first) > 0
    page.follow(shots[:3])  # rewound
    assert len(page.distances) == 3


@pytest.mark.parametrize("direct", [False, True])
def test_pulls_are_the_reference_gradients(animals: Session, direct: bool):
    settings = replace(DEFAULTS["animals"], direct=direct)
    shot = Run(animals.ready, settings, Limits()).snapshot()
    sheep = int(animals.ready.tokenizer.encode("sheep")[0])
    found = windows_with(animals.ready.train, 3, sheep)
    w = shot.weights
    P: dict[str, Any] = {"E": w["emb.weight"], "W1": w["hidden.weight"].T, "b1": w["hidden.bias"]}
    P |= {"W2": w["out.weight"].T, "b2": w["out.bias"], "W3": w["direct.weight"].T if direct else None}
    mine = row_gradients(shot, found.contexts, found.targets, sheep)
    for i in range(len(found.targets)):
        theirs = nplm_grads(P, found.contexts[i : i + 1], found.targets[i : i + 1])["E"][sheep]
        assert mine[i] == pytest.approx(theirs, abs=1e-12)
    total = len(animals.ready.train) - 3
    assert steps(shot, found, sheep) == pytest.approx(-mine * found.counts[:, None] / total)
    direction = shot.embeddings[0] - shot.embeddings[sheep]
    expected = [float(row @ direction) / math.sqrt(direction @ direction) for row in mine]
    assert along(mine, direction) == pytest.approx(expected)
    assert along(mine, direction * 0) == pytest.approx(0)
    assert alike(shot, found, sheep, sheep) == pytest.approx(1)
    cow = int(animals.ready.tokenizer.encode("cow")[0])
    swapped = np.where(found.contexts[:1] == sheep, cow, found.contexts[:1])
    other = nplm_grads(P, swapped, found.targets[:1])["E"][cow]
    cosine = float(mine[0] @ other) / math.sqrt(float(mine[0] @ mine[0]) * float(other @ other))
    assert alike(shot, found, sheep, cow)[0] == pytest.approx(cosine)


def test_windows_with_a_word_are_those_of_a_plain_loop(animals: Session):
    ids = animals.ready.train.ids.tolist()
    sheep = int(animals.ready.tokenizer.encode("sheep")[0])
    plain = Counter(tuple(ids[i : i + 4]) for i in range(len(ids) - 3) if sheep in ids[i : i + 3])
    found = windows_with(animals.ready.train, 3, sheep)
    rows = [tuple(row) for row in np.column_stack([found.contexts, found.targets]).tolist()]
    assert dict(zip(rows, found.counts.tolist(), strict=True)) == dict(plain)


# ---- reading ----


def test_surprisals_of_network_n_gram_and_mixture(animals: Session):
    network, counting = animals.network("in training"), animals.counting()
    text = "the cow ate the hay . the sheep grazed ."
    found = read(text, network, counting)
    assert found.names == ("network", "n-gram", "mixture")
    ids = [int(i) for i in network.tokenizer.encode(text)]
    last = found.tokens[-1]
    p = float(np.exp(network.model.log_probs([ids[-4:-1]])[0, ids[-1]]))
    q = float(np.exp(counting.model.log_probs([ids[-4:-1]])[0, ids[-1]]))
    assert last.losses == pytest.approx((-math.log(p), -math.log(q), -math.log(0.5 * p + 0.5 * q)))
    assert text[last.start : last.end] == "."
    assert found.scored == len(ids) - 3
    assert found.perplexities[0] == pytest.approx(network.perplexity(text))


def test_a_model_is_read_beside_those_that_read_the_same_tokens(animals: Session):
    network, counting = animals.network("in training"), animals.counting()
    other = TextModel(AddK.fit(animals.ready.train, 2, k=1.0), network.tokenizer, network.boundary)
    both = TextModel(Mixture([network.model, other.model], [0.5, 0.5]), network.tokenizer, network.boundary)
    session = Session(models={"other": other, "both": both, "five": five_words()})
    session.ready, session.run = animals.ready, animals.run
    assert list(session.beside("in training")) == ["n-gram of this text", "other", "both"]
    assert list(session.beside("other")) == ["both"]
    assert session.beside("five") == {}
    text = "the cow ate the hay . the sheep grazed ."
    assert read(text, other, None).names == ("n-gram",)
    assert read(text, other, counting).names == ("n-gram", "other n-gram", "mixture")
    found = read(text, both, other)
    assert found.names == ("mixture", "n-gram", "half and half")
    p, q = (math.exp(-nats) for nats in found.tokens[-1].losses[:2])
    assert found.tokens[-1].losses[2] == pytest.approx(-math.log((p + q) / 2))


def test_a_models_own_words_are_what_it_writes():
    """As `TextModel.ids` draws them, past the ends of units that are too short."""
    net = NPLM(9, 3, 4, 5, rng=PCG32(7))
    for parameter in net.parameters():
        parameter.data.mul_(4)
    document = TextModel(net, Chars(list("abcdefgh")), "document")
    stream = list(islice(net.stream([8, 8, 8], Sampling(), 0), 60))
    own = own_words(document, 12)
    assert len(own) == 12
    assert 8 not in own  # the end
    assert ",".join(map(str, own)) in ",".join(map(str, stream))
    assert own[:3] != [0, 1, 2]
    alone = TextModel(net, Words([*"abcdefgh", "i"]), "stream")  # whose texts do not end
    assert len(own_words(alone, 12)) == 12


def test_a_text_too_long_to_read_is_refused(animals: Session):
    with pytest.raises(InputError, match="reads up to"):
        read("a" * (LONGEST + 1), animals.network("in training"), None)


def test_bars_show_what_temperature_and_top_k_make_of_the_probabilities(animals: Session):
    network = animals.network("in training")
    plain = candidates("the cow ate the", network, Sampling())
    assert all(bar.weight == pytest.approx(bar.probability) for bar in plain)
    cold = candidates("the cow ate the", network, Sampling(0.5, 2))
    squares = np.array([bar.probability**2 for bar in plain[:2]])
    assert [bar.weight for bar in cold[:2]] == pytest.approx(squares / squares.sum())
    assert all(bar.weight == 0 for bar in cold[2:])


def test_a_network_whose_numbers_are_none_any_more_is_not_read(animals: Session):
    network = animals.network("in training")
    weights = {name: array * np.nan for name, array in network.model.state().items()}
    lost = TextModel(Snapshot(network.model.config(), weights), network.tokenizer, network.boundary)
    with pytest.raises(InputError, match="go back to its last good step, or rewind"):
        candidates("the cow ate the", lost, Sampling())


# ---- weight decay: FACTS 2g ----


def test_the_weight_decay_experiment_starts_from_one_network():
    Decay = pytest.importorskip("neuralgram.serving.explorer.views.experiment").Decay
    meter = Meter(Limits(seconds=5.0))
    made = Decay(meter.limits, meter)
    assert made.with_decay.points == made.without.points
    made.advance()
    assert made.step == 20
    outcomes = made.outcomes()
    assert len(outcomes) == 3
    assert not outcomes[0].holds  # after 20 updates nothing has been learned yet
    assert 0 < meter.seconds < 5.0
    meter.seconds += 5.0  # the visitor's own
    made.advance()
    assert (made.step, made.done) == (20, True)


def test_add_k_is_the_best_of_its_family_on_the_held_out_part():
    ready = prepare(DEFAULTS["story"], "", Limits())
    assert ready.vocab_size == 26  # FACTS 2g
    held_out = ready.held_out(4)
    assert float(ready.add_k.score(ready.valid.windows(ready.add_k.context, ready.first)).mean()) == ready.add_k_loss
    assert len(held_out) == len(ready.valid) - ready.first
