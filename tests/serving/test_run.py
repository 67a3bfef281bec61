"""A visitor's run and its limits, without a browser."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from neuralgram.errors import InputError
from neuralgram.neural.nplm import NPLM
from neuralgram.rng import generator
from neuralgram.serving.explorer.address import Address
from neuralgram.serving.explorer.run import Run, due
from neuralgram.serving.explorer.session import FIVE, TRAINING, Session
from neuralgram.serving.explorer.settings import DEFAULTS, NUMBERS, Change, Limits, Settings, changed
from neuralgram.serving.explorer.texts import prepare
from neuralgram.serving.explorer.worker import Worker
from neuralgram.training.loop import train_nplm

LIMITS = Limits()
SMALL = replace(DEFAULTS["animals"], optimizer="sgd", lr=0.5, weight_decay=0.0)


def run_of(settings: Settings = SMALL) -> Run:
    return Run(prepare(settings, "", LIMITS), settings, LIMITS)


def weights(run: Run) -> list[float]:
    return [float(x) for array in run.model.state().values() for x in array.ravel()]


def test_a_run_is_the_training_loop_of_the_package():
    """The page's numbers are those `train_nplm` gives for the same seed, network and text."""

    class Given:
        def next_uint32(self) -> int:
            return SMALL.seed

    run = run_of()
    run.run_to(30)
    ready = run.ready
    model = NPLM(ready.vocab_size, 3, 3, 16, False, generator(0, "init"))
    train_nplm(model, ready.train.ids, 30, SMALL.batch_size, SMALL.lr, Given())  # type: ignore[arg-type]
    for name, array in model.state().items():
        assert np.array_equal(array, run.model.state()[name]), name


def test_rewinding_and_playing_again_gives_the_same_numbers():
    run = run_of()
    start = weights(run)
    run.run_to(60)
    first, curve = weights(run), list(run.points)
    run.rewind()
    assert weights(run) == start
    run.run_to(60)
    assert weights(run) == first
    assert run.points == curve


def test_the_curves_start_at_log_v_and_do_not_depend_on_how_the_steps_were_taken():
    run, other = run_of(), run_of()
    assert run.points[0].train == pytest.approx(math.log(16), abs=0.01)  # FACTS 2f: log 16 = 2.77
    run.run_to(50)
    while other.step < 50:
        other.advance(other.step + 3)
    assert run.points == other.points
    assert [p.step for p in run.points] == [s for s in range(51) if due(s)]


def test_curves_are_exact_losses_of_all_windows():
    run = run_of()
    run.run_to(20)
    contexts, targets = run.ready.train.windows(3).slice(0, 10**6)
    assert run.points[-1].train == pytest.approx(run.model.context_nll(contexts, targets).mean(), abs=1e-12)


def test_rates_changed_on_the_way_are_replayed():
    run = run_of()
    run.run_to(23)
    run.retune(0.05, 0.01)
    run.run_to(60)
    again = run_of()
    again.run_to(60, tuple(run.changes))
    assert run.changes == [Change(23, 0.05, 0.01)]
    assert weights(again) == weights(run)
    plain = run_of()
    plain.run_to(60)
    assert weights(plain) != weights(run)


def test_divergence_is_explained_and_one_call_goes_back_to_the_last_good_state():
    run = run_of()
    run.run_to(40)
    good = weights(run)
    run.retune(1e6, 0.0)
    run.run_to(200)
    lost = run.diverged
    assert lost is not None
    assert lost.good_step == 40
    assert lost.step > 40
    assert "1e+06" in lost.explanation
    assert "NaN" in lost.explanation
    run.back()
    assert run.diverged is None
    assert run.step == 40
    assert weights(run) == good
    assert run.lr == 1e5
    again = run_of()
    again.run_to(40, tuple(run.changes))
    assert weights(again) == good


def test_a_worker_plays_to_its_step_pauses_and_ends_when_closed():
    run = run_of()
    worker = Worker(run)
    worker.play(25)
    wait(lambda: not worker.playing)
    assert run.step == 25
    worker.play()
    wait(lambda: run.step > 30)
    worker.pause()
    step = run.step
    time.sleep(0.1)
    assert run.step == step
    worker.play()
    worker.close()
    wait(lambda: worker._thread is not None and not worker._thread.is_alive())
    step = run.step
    worker.play()
    time.sleep(0.05)
    assert run.step == step


def test_a_lost_connection_holds_the_work_until_it_is_back():
    session = Session()
    session.read(SMALL)
    session.start()
    session.resume()
    assert not session.playing  # nothing was held
    session.play()
    wait(lambda: session.run.step > 5)
    assert not session.away
    session.hold()
    assert session.away  # the experiment waits as well
    assert not session.playing
    session.resume()
    assert not session.away
    assert session.playing
    session.pause()
    step = session.run.step
    session.hold()
    session.play(3)  # asked for while the connection is gone: it waits as well
    time.sleep(0.05)
    assert session.run.step == step
    session.resume()
    wait(lambda: session.run.step == step + 3)
    session.hold()
    session.take(SMALL)
    session.resume()
    assert not session.playing  # another run: what was held is gone
    session.close()


def test_a_pace_is_kept():
    run = run_of()
    worker = Worker(run)
    worker.pace = 20.0
    started = time.monotonic()
    worker.play()
    wait(lambda: run.step >= 5)
    worker.close()
    assert run.step <= 1 + 20 * (time.monotonic() - started)


def test_limits_of_steps_and_seconds_stop_a_run_and_say_so():
    ready = prepare(SMALL, "", LIMITS)
    for limits, word in ((Limits(steps=30), "30 steps"), (Limits(seconds=0.0), "seconds")):
        worker = Worker(Run(ready, SMALL, limits))
        worker.play()
        wait(lambda worker=worker: not worker.playing)
        assert worker.run.step <= 30
        assert word in worker.stopped_because
        worker.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty text"),
        ("a" * 200_001, "200,001 characters"),
        ("one two", "too short"),
        ("abcdefghi\n" * 5, "too few for a window"),
        ("abcdefghi\n" * 7, "expected at least one batch, 64"),
        ("".join(chr(0x4E00 + i) for i in range(5_000)), "5,000 different tokens"),
    ],
)
def test_unfit_texts_are_refused_in_words(text: str, words: str):
    session = Session()
    before = session.settings
    run = session.start()
    with pytest.raises(InputError, match=words):
        session.take(DEFAULTS["own"], text)
    assert session.settings is before  # and what was there stays
    assert session.run is run


@pytest.mark.parametrize("tokens", ["words", "chars", "bpe", "bytes"])
@pytest.mark.parametrize("by_line", [False, True])
def test_every_kind_of_token_trains(tokens: str, by_line: bool):
    text = "“It rains,” said the hen. It does – always!\nThe duck: swims.\n\n" * 12
    session = Session()
    settings = replace(DEFAULTS["own"], tokens=tokens, by_line=by_line, context=2, batch_size=16)
    run = session.take(settings, text)
    run.run_to(20)
    assert run.points[-1].train < run.points[0].train == pytest.approx(run.log_v, abs=0.05)


def test_html_in_a_text_is_text():
    session = Session()
    ready = session.read(DEFAULTS["own"], "<script>alert(1)</script> & <b>bold</b>\n" * 40)
    assert ready.vocab_size == len(set("<script>alert(1)</script> & <b>bold</b>\n"))


@pytest.mark.parametrize("name", list(NUMBERS))
@pytest.mark.parametrize("value", [-1, 10**9 * 10**3, float("nan"), float("inf"), None, "12", True])
def test_sizes_outside_their_bounds_are_refused(name: str, value: object):
    with pytest.raises(InputError, match="expected"):
        replace(DEFAULTS["story"], **{name: value})


def test_a_network_too_large_for_the_page_is_refused():
    with pytest.raises(InputError, match="parameters"):
        Run(prepare(SMALL, "", LIMITS), SMALL, Limits(parameters=400))


def test_the_seconds_are_those_of_a_visitor_and_not_of_a_run():
    session = Session(Limits(seconds=0.2))
    session.take(SMALL).run_to(10_000)
    steps = session.run.step
    assert 0 < steps < 10_000
    assert session.meter.over
    session.rewind()
    session.take(replace(SMALL, seed=1))  # neither gives them back
    session.play(5)
    wait(lambda: not session.playing)
    assert session.run.step == 0
    assert "neither a rewind nor another network gives them back" in session.worker.stopped_because
    assert not Session(Limits(seconds=0.2)).meter.over
    session.close()


def test_two_who_step_one_session_at_once_make_every_step_once():
    session, started = Session(), threading.Barrier(2)
    session.read(SMALL)
    runs = []

    def visitor() -> None:
        started.wait()
        runs.append(session.start())
        for _ in range(20):
            session.play(3)

    both = [threading.Thread(target=visitor) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    wait(lambda: not session.playing)
    assert runs[0] is runs[1] is session.run  # one network, though both asked for it
    assert session.run.step == 2 * 20 * 3
    alone = run_of()
    alone.run_to(120)
    assert weights(session.run) == weights(alone)
    assert session.run.points == alone.points
    session.close()


def test_steps_asked_for_while_a_run_is_made_again_come_after_it():
    first = run_of()
    first.run_to(20)
    first.retune(0.05, 0.0)
    first.run_to(90)
    session = Session()
    session.restore(Address("train", SMALL, 80, tuple(first.changes)))
    assert session.replaying == 80 or session.run.step == 80
    session.play(10)
    wait(lambda: not session.playing)
    assert session.run.step == 90
    assert weights(session.run) == weights(first)
    session.close()


def test_a_session_is_restored_by_replay():
    first = Session()
    first.read(replace(SMALL, seed=3))
    first.start().run_to(17)
    first.run.retune(0.1, 0.0)
    first.run.run_to(31)
    second = Session()
    second.restore(first.address("train", {}))
    wait(lambda: not second.playing)
    assert second.run.step == 31
    assert weights(second.run) == weights(first.run)


def test_a_replay_nobody_waits_for_ends():
    session = Session()
    session.read(SMALL)
    run = session.start()
    session.close()
    run.run_to(5_000)
    assert run.step == 0


def test_sessions_do_not_share_a_run():
    first, second = Session(), Session()
    for session in (first, second):
        session.read(SMALL)
        session.start()
    first.run.run_to(10)
    assert (first.run.step, second.run.step) == (10, 0)
    first.close()
    second.run.run_to(5)
    assert second.run.step == 5


def test_the_five_words_need_no_training_and_the_run_is_shown_as_it_is_now():
    session = Session()
    assert session.network(FIVE).model.vocab_size == 5
    assert session.network(TRAINING) is None
    session.read(SMALL)
    session.start()
    before = session.network(TRAINING).model
    assert session.network(TRAINING).model is before
    session.run.run_to(4)
    after = session.network(TRAINING).model
    assert after.step == 4
    contexts, targets = session.ready.train.windows(3).slice(0, 50)
    assert np.allclose(
        after.context_nll(contexts, targets), session.run.model.context_nll(contexts, targets), atol=1e-5
    )
    with pytest.raises(InputError, match="expected one of"):
        session.network("nowhere")


def test_another_sample_starts_from_its_own_settings():
    assert changed(replace(DEFAULTS["animals"], seed=9), sample="story") == DEFAULTS["story"]
    assert changed(DEFAULTS["animals"], seed=9).seed == 9


def wait(condition, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)
