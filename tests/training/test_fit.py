"""A whole run: what it keeps, when it stops, what it says."""

from __future__ import annotations

import json
import math
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from neuralgram import NPLM, PCG32
from neuralgram.errors import DivergedError, InputError
from neuralgram.text.windows import Corpus
from neuralgram.training import machine, run
from neuralgram.training.batches import Validation
from neuralgram.training.config import TrainConfig
from neuralgram.training.events import Event, read_lines
from neuralgram.training.fit import fit, run_length
from neuralgram.training.machine import TrainingInterrupted
from neuralgram.training.run import TrainResult

V, C = 6, 3


def text(tokens: int, seed: int) -> Corpus:
    """Tokens that mostly follow a cycle, so that there is something to learn and something to overfit."""
    noise = PCG32(seed).uint32s(tokens) % 100
    return Corpus(np.where(noise < 75, np.arange(tokens) % V, noise % V), V)


TRAIN, VALID = text(400, 1), text(300, 2)
RICH = TrainConfig(
    steps=60, batch_size=16, lr=0.02, weight_decay=0.1, average="ema", average_decay=0.9, clip=1.0, warmup=0.1,
    eval_every=7, threads=1, seed=3,
)  # fmt: skip


def network(dropout: float = 0.3) -> NPLM:
    return NPLM(V, C, 4, 8, dropout=dropout, rng=PCG32(5))


def same(first: NPLM, second: NPLM) -> bool:
    return all(
        torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    )


def stopper(at: int, kind: str = "progress") -> Any:
    def on_event(event: Event) -> None:
        if event.step == at and event.kind == kind:
            raise KeyboardInterrupt

    return on_event


def uninterrupted(config: TrainConfig = RICH) -> tuple[NPLM, TrainResult]:
    model = network()
    return model, fit(model, TRAIN, VALID, config)


# 24 batches an epoch: in the middle of one, at its end, at a validation, just after one, before the first.
@pytest.mark.parametrize("at", [1, 24, 35, 36, 48, 59])
@pytest.mark.parametrize("settings", [{}, {"optimizer": "sgd", "momentum": 0.9, "average": "tail", "lr": 0.1}])
def test_a_resumed_run_ends_in_the_same_weights_bit_for_bit(tmp_path: Path, at: int, settings: dict[str, Any]) -> None:
    config = TrainConfig(**{**RICH.to_json(), **settings})
    whole, result = uninterrupted(config)
    with pytest.raises(TrainingInterrupted, match=f"stopped at step {at} of 60; step {at} is saved.*--resume"):
        fit(network(), TRAIN, VALID, config, folder=tmp_path, on_event=stopper(at))
    model = NPLM(V, C, 4, 8, dropout=0.3, rng=PCG32(99))  # its initial weights do not matter
    again = fit(model, TRAIN, VALID, config, folder=tmp_path, resume=True)
    assert same(model, whole)
    assert again.history == result.history
    assert (again.best_step, again.best_perplexity, again.first_loss) == (*result[3:5], result.first_loss)
    steps = [line["step"] for line in read_lines(tmp_path / "log.jsonl") if line["event"] == "evaluated"]
    assert steps == [7, 14, 21, 28, 35, 42, 49, 56, 60]


def test_interrupted_at_a_validation(tmp_path: Path) -> None:
    whole, _ = uninterrupted()
    with pytest.raises(TrainingInterrupted):
        fit(network(), TRAIN, VALID, RICH, folder=tmp_path, on_event=stopper(28, "evaluated"))
    model = network()
    fit(model, TRAIN, VALID, RICH, folder=tmp_path, resume=True)
    assert same(model, whole)


def test_resuming_before_the_first_checkpoint_and_after_the_end(tmp_path: Path) -> None:
    whole, result = uninterrupted()
    for _ in range(2):
        model = network()
        again = fit(model, TRAIN, VALID, RICH, folder=tmp_path, resume=True)
        assert same(model, whole)
        assert again.best_perplexity == result.best_perplexity


def test_the_signal_of_ctrl_c_is_a_wish(tmp_path: Path) -> None:
    whole, _ = uninterrupted()

    def on_event(event: Event) -> None:
        if event.kind == "progress" and event.step == 30:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(TrainingInterrupted, match="stopped at step 30"):
        fit(network(), TRAIN, VALID, RICH, folder=tmp_path, on_event=on_event)
    assert signal.getsignal(signal.SIGINT) is before
    model = network()
    fit(model, TRAIN, VALID, RICH, folder=tmp_path, resume=True)
    assert same(model, whole)


def test_a_run_in_another_thread_is_the_same_run() -> None:
    whole, _ = uninterrupted()
    model = network()
    worker = threading.Thread(target=lambda: fit(model, TRAIN, VALID, RICH))
    worker.start()
    worker.join()
    assert same(model, whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": VALID}, 'something of the checkpoint differs: training text was "'),
        ({"valid": TRAIN}, 'validation text was "'),
        ({"model": NPLM(V, C, 4, 9, dropout=0.3)}, r"model was .* and is "),
        ({"identity": {"tokenizer": "b"}}, 'tokenizer was "a" and is "b"'),
        (
            {"config": TrainConfig(**{**RICH.to_json(), "lr": 0.5})},
            "setting of the checkpoint differs: lr was 0.02 and is 0.5",
        ),
    ],
)
def test_resuming_something_else_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "model": network(),
        "train": TRAIN,
        "valid": VALID,
        "config": RICH,
        "identity": {"tokenizer": "a"},
    }
    with pytest.raises(TrainingInterrupted):
        fit(**given, folder=tmp_path, on_event=stopper(20))
    with pytest.raises(InputError, match=message):
        fit(**{**given, **change}, folder=tmp_path, resume=True)


def test_other_threads_are_told(tmp_path: Path) -> None:
    with pytest.raises(TrainingInterrupted):
        fit(network(), TRAIN, VALID, RICH, folder=tmp_path, on_event=stopper(20))
    said: list[Event] = []
    config = TrainConfig(**{**RICH.to_json(), "threads": 2})
    fit(network(), TRAIN, VALID, config, folder=tmp_path, resume=True, on_event=said.append)
    warnings = [event.to_json()["message"] for event in said if event.kind == "warning"]
    assert warnings == ["the weights will not be bit for bit those of a run never stopped: threads 1 then, 2 now"]


def test_the_best_weights_are_kept_and_early_stopping_counts_validations() -> None:
    config = TrainConfig(steps=2000, batch_size=16, lr=0.05, schedule="constant", eval_every=10, patience=3, threads=1)
    model = network(dropout=0.0)
    result = fit(model, TRAIN, VALID, config)
    losses = [entry["valid_loss"] for entry in result.history]
    assert result.stopped == "no better validation in 3 of them"
    assert len(losses) - 1 - int(np.argmin(losses)) == 3
    assert result.best_step == 10 * (int(np.argmin(losses)) + 1)
    assert result.best_perplexity == pytest.approx(math.exp(min(losses)), rel=1e-12)
    assert model.perplexity(VALID.ids) == pytest.approx(math.exp(min(losses)), rel=1e-8)
    assert losses[-1] > min(losses)


def test_the_average_is_evaluated_and_kept() -> None:
    averaged, plain = network(0.0), network(0.0)
    config = {"steps": 40, "batch_size": 16, "lr": 0.05, "schedule": "constant", "threads": 1}
    result = fit(averaged, TRAIN, VALID, TrainConfig(**config, average="tail", average_tail=0.5, eval_every=40))
    fit(plain, TRAIN, None, TrainConfig(**config, average="tail", average_tail=0.5))
    assert same(averaged, plain)  # the same average, with or without validation
    assert averaged.perplexity(VALID.ids) == pytest.approx(result.best_perplexity, rel=1e-8)
    raw = network(0.0)
    fit(raw, TRAIN, None, TrainConfig(**config))
    assert not same(averaged, raw)


def test_validation_is_exact_however_batched_and_a_sample_is_even() -> None:
    model = network()
    exact = model.nll(VALID.ids)
    for batch in (1, 7, 1000):
        model.score_batch = batch
        assert Validation(VALID.windows(C)).loss(model) == pytest.approx(exact.mean(), rel=1e-8)
    sample = Validation(VALID.windows(C), limit=99)
    assert (sample.tokens, sample.whole) == (99, False)
    assert sample.loss(model) == pytest.approx(exact[::3].mean(), rel=1e-8)  # 297 windows: every third
    with pytest.raises(InputError, match="a validation text of 3 tokens has nothing to score"):
        Validation(Corpus(np.arange(3), V).windows(C))


def test_divergence_names_step_rate_and_the_checkpoint_that_stays(tmp_path: Path) -> None:
    config = TrainConfig(steps=60, batch_size=16, lr=1e6, optimizer="sgd", schedule="constant", threads=1)
    with pytest.raises(
        DivergedError, match=r"diverged: .* at step \d+, learning rate 1e\+06; try a tenth .*step 0 stays"
    ):
        fit(network(), TRAIN, VALID, config, folder=tmp_path)
    assert read_lines(tmp_path / "log.jsonl")[-1]["event"] in {"progress", "evaluated", "started"}


def test_a_last_update_that_breaks_the_weights_is_not_kept() -> None:
    config = TrainConfig(steps=1, batch_size=16, lr=3e38, optimizer="sgd", schedule="constant", threads=1)
    for valid in (None, VALID):
        model = network(0.0)
        model.out.bias.data.fill_(1e38)
        model.out.bias.data[0] = -1e38
        with pytest.raises(DivergedError):
            fit(model, TRAIN, valid, config)


def test_a_first_loss_far_above_log_v_warns() -> None:
    said: list[Event] = []
    model = network(0.0)
    model.out.weight.data.mul_(1000)
    config = TrainConfig(steps=2, batch_size=16, lr=1e-4, threads=1)
    fit(model, TRAIN, None, config, on_event=said.append)
    messages = [event.to_json()["message"] for event in said if event.kind == "warning"]
    assert len(messages) == 1
    assert "well above log V = 1.79" in messages[0]
    said.clear()
    fit(network(), TRAIN, None, config, on_event=said.append)
    assert not [event for event in said if event.kind == "warning"]


def test_a_full_disk_warns_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, folder: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(run.Checkpoint, "write", full)
    said: list[Event] = []
    whole, _ = uninterrupted()
    model = network()
    fit(model, TRAIN, VALID, RICH, folder=tmp_path, on_event=said.append)
    assert same(model, whole)
    warning = next(event.to_json()["message"] for event in said if event.kind == "warning")
    assert warning == "no checkpoint of step 0: No space left on device; none was made before"


def test_the_log_says_what_happened(tmp_path: Path) -> None:
    model, events = network(), []
    result = fit(model, TRAIN, VALID, RICH, folder=tmp_path, on_event=events.append)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines == [event.to_json() for event in events if event.kind != "saved"]
    progress = [line for line in lines if line["event"] == "progress"]
    assert {"step", "epoch", "running_loss", "lr", "tokens_per_second", "seconds", "seconds_left"} <= progress[0].keys()
    assert progress[-1]["step"] == 60
    assert progress[-1]["seconds_left"] == 0
    evaluated = [line for line in lines if line["event"] == "evaluated"]
    assert [line["valid_loss"] for line in evaluated] == [entry["valid_loss"] for entry in result.history]
    assert evaluated[0]["valid_perplexity"] == pytest.approx(math.exp(evaluated[0]["valid_loss"]))
    losses = [line["running_loss"] for line in progress]  # one update each in so short a run
    assert evaluated[0]["running_train_loss"] == pytest.approx(sum(losses[:7]) / 7)
    assert lines[-1]["event"] == "finished"


def test_lengths() -> None:
    windows = TRAIN.windows(C)  # 397 windows: 24 batches of 16
    assert run_length(network(), windows, None, TrainConfig(epochs=2.5, batch_size=16))[:2] == (60, 3)
    assert run_length(network(), windows, None, TrainConfig(epochs=40, batch_size=16))[:2] == (960, 24)
    assert run_length(network(), windows, None, TrainConfig(steps=24_000, batch_size=16))[:2] == (24_000, 240)
    assert run_length(network(), windows, None, TrainConfig(steps=9, batch_size=16, eval_every=4))[:2] == (9, 4)
    with pytest.raises(InputError, match=r"397 windows .* at least one batch, 400"):
        run_length(network(), windows, None, TrainConfig(epochs=1, batch_size=400))


def test_max_time_becomes_a_number_of_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("neuralgram.training.fit.time_step", lambda *_: 0.01)
    monkeypatch.setattr("neuralgram.training.fit.time_validation", lambda *_: 0.05)
    config = TrainConfig(max_time=2.0, batch_size=16)
    length = run_length(network(), TRAIN.windows(C), Validation(VALID.windows(C)), config)
    # At most a tenth of 2 s for validations of 0.05 s: 4; the other 1.8 s are 180 updates.
    assert length[:2] == (180, 45)
    assert length.reason == "180 steps: 2 s at 10 ms a step and 0.05 s a validation"
    monkeypatch.undo()
    said: list[Event] = []
    result = fit(network(), TRAIN, VALID, TrainConfig(max_time=0.2, batch_size=16, threads=1), on_event=said.append)
    assert result.steps == result.total_steps
    assert any(f"{result.steps} steps: 0.2 s at" in str(event) for event in said)


def test_threads_are_put_back_and_chosen_by_timing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    assert fit(network(), TRAIN, None, TrainConfig(steps=1, threads=3)).threads == 3
    assert torch.get_num_threads() == before
    monkeypatch.setattr(machine, "cores", lambda: 4)
    for gain, expected in ((0.1, 1), (1.1, 1), (2.5, 4)):
        monkeypatch.setattr(machine, "_gain", lambda *_, gain=gain: gain)
        chosen = machine.choose_threads(network(), TRAIN.windows(C), TrainConfig(steps=1))
        assert chosen.number == expected
    for quota, expected_quota in (("max 100000", math.inf), ("150000 100000", 1.5), ("20000 100000", 1.0)):
        (tmp_path / "cpu.max").write_text(quota)
        assert machine._quota(tmp_path) == expected_quota
    assert machine._quota(tmp_path / "absent") == math.inf
