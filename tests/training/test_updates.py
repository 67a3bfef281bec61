"""Schedules, optimisers, averages and settings against their equations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from neuralgram import NPLM, PCG32
from neuralgram.errors import InputError
from neuralgram.text.windows import Corpus
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer
from neuralgram.training.optimisers import clip_gradients
from neuralgram.training.schedules import factor

IDS = PCG32(8).uint32s(300) % 9


def trainer(**settings: Any) -> Trainer:
    settings = {"steps": 20, "batch_size": 16, **settings}
    model = NPLM(9, 2, 3, 4, rng=PCG32(1)).double()
    return Trainer(model, Corpus(IDS, 9).windows(2), TrainConfig(**settings), settings["steps"])


def test_schedules() -> None:
    assert factor("paper", 0, 10) == 1
    # ε_t = ε_0/(1 + r·t) with r = 10⁻⁸: after 10⁸ updates, half.
    assert factor("paper", 10**8, 2 * 10**8, rate=1e-8) == pytest.approx(0.5)
    assert [factor("linear", t, 4) for t in range(4)] == [1, 0.75, 0.5, 0.25]
    assert [factor("cosine", t, 4) for t in range(4)] == pytest.approx(
        [1, 0.5 + math.sqrt(0.125), 0.5, 0.5 - math.sqrt(0.125)]
    )
    assert [factor("constant", t, 9, warmup=4) for t in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]


def test_the_rate_of_every_update_is_the_schedule_s() -> None:
    seen = [done.lr for done in trainer(lr=0.5, schedule="linear", warmup=0.2).run()]
    assert seen == pytest.approx([0.5 * (1 - t / 20) * min(1, (t + 1) / 4) for t in range(20)])


def test_adamw_is_its_equation() -> None:
    run = trainer(lr=0.01, optimizer="adamw", weight_decay=0.1, betas=(0.8, 0.9), schedule="constant")
    twin = NPLM(9, 2, 3, 4, rng=PCG32(1)).double()
    p = {name: value.copy() for name, value in twin.state().items()}
    m = {name: np.zeros_like(value) for name, value in p.items()}
    v = {name: np.zeros_like(value) for name, value in p.items()}
    for t in range(1, 6):
        twin.load_state_dict(p)
        twin.zero_grad()
        twin.loss(*run.batches.batch(t - 1)).mean().backward()
        run.update()
        for name, parameter in twin.named_parameters():
            g = parameter.grad.numpy()  # type: ignore[union-attr]
            m[name] = 0.8 * m[name] + 0.2 * g
            v[name] = 0.9 * v[name] + 0.1 * g * g
            p[name] = p[name] * (1 - 0.01 * (0.0 if name.endswith("bias") else 0.1))
            p[name] -= 0.01 * (m[name] / (1 - 0.8**t)) / (np.sqrt(v[name] / (1 - 0.9**t)) + 1e-8)
        for name, value in run.model.state().items():
            np.testing.assert_allclose(value, p[name], rtol=1e-9, atol=1e-12, err_msg=f"{name} at {t}")


def test_clipping_bounds_the_norm_of_all_gradients_together() -> None:
    gradients = [torch.tensor([3.0, 0.0]), torch.tensor([[0.0], [4.0]])]
    clip_gradients(gradients, 10.0)
    assert gradients[0].tolist() == [3.0, 0.0]
    clip_gradients(gradients, 1.0)
    assert gradients[0].tolist() == pytest.approx([0.6, 0.0])
    assert gradients[1].flatten().tolist() == pytest.approx([0.0, 0.8])
    nothing = [torch.zeros(3)]
    clip_gradients(nothing, 1.0)
    assert nothing[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["ema", "tail"])
def test_averages(name: str) -> None:
    run = trainer(average=name, average_decay=0.7, average_tail=0.3, lr=0.05)
    path = []
    for _ in range(20):
        run.update()
        path.append([p.detach().clone() for p in run.parameters.values()])
        assert run.average is not None
        assert run.average.started(run.step) == (name == "ema" or run.step > 14)
    if name == "tail":  # the plain mean of the last 6 of 20
        expected = [torch.stack([weights[i] for weights in path[14:]]).mean(0) for i in range(len(path[0]))]
    else:
        expected = [weight.clone() for weight in path[0]]
        for t, weights in enumerate(path, 1):
            a = max(0.3, 10 / (t + 9))
            expected = [(1 - a) * old + a * new for old, new in zip(expected, weights, strict=True)]
    for value, right in zip(run.average.values, expected, strict=True):  # type: ignore[union-attr]
        np.testing.assert_allclose(value.numpy(), right.numpy(), rtol=1e-12)
    assert trainer(average="none").average is None


def test_dropout_masks_are_a_function_of_the_step() -> None:
    same = Corpus(np.full(100, 3), 9)  # every window is the same one: losses differ by their masks alone

    def three(first: int, dropout: float) -> list[float]:
        model = NPLM(9, 2, 3, 4, dropout=dropout, rng=PCG32(1))
        run = Trainer(model, same.windows(2), TrainConfig(steps=20, batch_size=16, lr=0.0), 20)
        run.step = first
        return [run.update().item() for _ in range(3)]

    torch.manual_seed(7)  # the global generator plays no part
    assert len(set(three(0, 0.0))) == 1
    assert len(set(three(0, 0.5))) == 3
    assert three(0, 0.5)[2] == three(2, 0.5)[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no length given: expected exactly one of steps, epochs, max_time"),
        ({"steps": 3, "epochs": 2.0}, "steps, epochs given"),
        ({"steps": 0}, "steps 0: expected a whole number of at least 1"),
        ({"steps": 2.5}, "steps 2.5"),
        ({"epochs": -1.0}, "epochs -1.0: expected a number above 0"),
        ({"steps": 1, "lr": float("inf")}, "lr inf"),
        ({"steps": 1, "momentum": 1.5}, "momentum 1.5: expected a number of at least 0 and at most 1"),
        ({"steps": 1, "clip": 0.0}, "clip 0.0: expected a number above 0"),
        ({"steps": 1, "optimizer": "adam"}, "optimizer 'adam': expected one of sgd, adamw"),
        ({"steps": 1, "schedule": "steps"}, "schedule 'steps': expected one of constant, paper, linear, cosine"),
        ({"steps": 1, "average": "swa"}, "average 'swa': expected one of none, ema, tail"),
        ({"steps": 1, "precision": "fp16"}, "precision 'fp16': expected one of auto, fp32, bf16"),
        ({"steps": 1, "patience": 0}, "patience 0"),
        ({"steps": 1, "seed": -1}, "seed -1"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainConfig(**settings)


def test_settings_are_json() -> None:
    config = TrainConfig(epochs=1.5, betas=(0.5, 0.6), clip=2.0)
    assert TrainConfig.from_json(config.to_json()) == config
    with pytest.raises(InputError, match="unknown training setting speed"):
        TrainConfig.from_json({"steps": 1, "speed": 9})
