"""What is new of training is one file and one line: the command, its plan, the page of settings, the check and the
model directory find it by themselves. Shown on a copy of the package, edited as a person would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.edited import copy_of_the_package, run_on

LINES = {
    "training/config.py": {
        "    threads: int | None = setting(": (
            '    wind: float = setting(0.5, help="How hard it blows.", unit="knots", above=0)\n'
            "    threads: int | None = setting("
        ),
    },
    "families.py": {
        "OPTIMISERS = {\n": 'OPTIMISERS = {\n    "toy-steps": "neuralgram.training.toys:Sign",\n',
        "SCHEDULES = {\n": 'SCHEDULES = {\n    "toy-rate": "neuralgram.training.toys:halved",\n',
        "AVERAGES = {\n": 'AVERAGES = {\n    "toy-mean": "neuralgram.training.toys:Last",\n',
    },
}
TOYS = '''
import torch
from neuralgram.training.optimisers import Dense
from neuralgram.training.schedules import Average

class Sign(Dense):
    """p ← p − lr·sign g."""
    def fresh(self, p):
        return {}
    def update(self, params, grads, states, lr, decay):
        for p, g in zip(params, grads):
            p.sub_(torch.sign(g), alpha=lr)

def halved(t, total, rate):
    return 0.5

class Last(Average):
    def weight(self, step):
        return 1.0
'''
SCRIPT = """
import json, sys
from pathlib import Path
import neuralgram
from neuralgram.cli.reference import reference, settings
from neuralgram.errors import InputError
from neuralgram.training.config import TrainConfig
from neuralgram.training.jobs.network import train_texts

folder, said = Path(sys.argv[1]), []
(folder / "text.txt").write_text("the cat sat on the mat and the dog sat on the log\\n" * 20)
given = {"texts": [str(folder / "text.txt")], "out": folder / "model", "steps": 5, "threads": 1, "wind": 2,
         "optimizer": "toy-steps", "schedule": "toy-rate", "average": "toy-mean", "lr": 0.001}
train_texts(given, say=said.append)
refused = {}
for name, value in (("wind", -1), ("optimizer", "toy"), ("schedule", "toy"), ("average", "toy")):
    try:
        TrainConfig(steps=1, **{name: value})
    except InputError as error:
        refused[name] = str(error)
told = json.loads((folder / "model" / "neuralgram.json").read_text())
print(json.dumps({"where": neuralgram.__file__, "commands": reference(), "settings": settings(), "plan": said,
                  "refused": refused, "stored": told["training"]["config"]}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("edited")
    copy_of_the_package(folder, LINES, {"training/toys.py": TOYS})
    told = json.loads(run_on(folder, "-c", SCRIPT, folder).splitlines()[-1])
    assert Path(told["where"]).is_relative_to(folder)
    return told


def test_a_new_setting_is_an_option_a_line_of_the_plan_a_row_and_a_check(found):
    assert "--wind FLOAT                    How hard it blows. [0.5]" in found["commands"]
    assert "| `wind` | number above 0 (knots) | 0.5 | 0.5 | How hard it blows. |" in found["settings"]
    assert "wind           2          as asked" in found["plan"]
    assert found["refused"]["wind"] == "wind -1: expected a number above 0"
    assert found["stored"]["wind"] == 2


@pytest.mark.parametrize(
    ("name", "member", "others"),
    [
        ("optimizer", "toy-steps", "sgd, adamw, sparse-sgd, adagrad"),
        ("schedule", "toy-rate", "constant, paper, linear, cosine"),
        ("average", "toy-mean", "none, ema, tail"),
    ],
)
def test_a_new_member_is_found_by_its_name(found, name, member, others):
    assert f"--{name} [{'|'.join([member, *others.split(', ')])}]" in found["commands"]
    assert f"| `{name}` | {' or '.join([member, *others.split(', ')])} |" in found["settings"]
    assert found["refused"][name] == f"{name} 'toy': expected one of {member}, {others}"
    assert found["stored"][name] == member
