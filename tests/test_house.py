"""The shape of the house: no circle of imports anywhere, and what is new of a kind is one file and one line."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import neuralgram as ng
from neuralgram.cli import main
from neuralgram.errors import InputError
from neuralgram.families import KINDS
from neuralgram.mixture import Mixture, Uniform
from neuralgram.modeldir import bytes_on_disk
from neuralgram.text.tokenizers import tokenizer_class
from neuralgram.textmodel import TextModel
from tests.contracts import test_language_models as contract
from tests.edited import copy_of_the_package, run_on
from tests.toys import Again

# ---- imports ----

SOURCE = Path(ng.__file__).parent
MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def imported(module: str) -> set[str]:
    """What a module imports of the package, at its top or inside a function, but for the sake of types alone."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = [ast.Pass()]
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= (whole & MODULES.keys()) or {node.module or ""}
    return names & MODULES.keys() - {module}


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found, waiting = set(), list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += graph[module]
    return found


def test_no_module_imports_what_imports_it():
    graph = {module: imported(module) for module in MODULES}
    assert {module for module in graph if module in reached(graph, module)} == set()


def test_the_house_has_under_two_hundred_files():
    assert len(MODULES) < 200


def test_the_search_for_circles_finds_one():
    assert "a" in reached({"a": {"b"}, "b": {"c"}, "c": {"a"}}, "a")
    assert imported("neuralgram.lm") >= {"neuralgram.errors", "neuralgram.text.windows"}


# ---- a kind of model ----


@pytest.fixture
def again(monkeypatch, tmp_path):
    """The directory of a model of the new kind, over the characters of a text, and that text."""
    monkeypatch.setitem(KINDS, "again", "tests.toys:Again")
    (tmp_path / "text.txt").write_text("aab bba abb\n" * 30)
    chars = tokenizer_class("chars").train([(tmp_path / "text.txt").read_text()])
    TextModel(Again(chars.vocab_size + 1, [0.4]), chars, "line").save(tmp_path / "again")
    return tmp_path / "again", tmp_path / "text.txt"


@pytest.fixture
def run(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([*map(str, arguments), "--json"])
        captured = capsys.readouterr()
        return stopped.value.code or 0, json.loads(captured.out)

    return call


def test_a_new_kind_of_model_is_kept_told_of_scored_and_explained(again, run, tmp_path):
    folder, text = again
    V = ng.load(folder).model.vocab_size
    told = run("info", folder)[1]
    assert (told["kind"], told["parameters"], told["unit"], told["tensors"]) == ("again", 1, "numbers", {"share": [1]})
    losses = [
        -np.log(0.4 if a == b else 0.6 / (V - 1))
        for a, b in zip("\n" + text.read_text(), text.read_text(), strict=False)
    ]
    [scored] = run("eval", folder, text)[1]["models"]
    assert scored["nats"] == pytest.approx(sum(losses))
    assert scored["size"] == {"numbers": 1, "unit": "numbers", "bytes": bytes_on_disk(folder)}
    assert run("predict", folder, "ab", "-k", 1)[1]["candidates"][0]["symbol"] == "b"
    assert run("generate", folder, "ab", "-n", 9)[1]["ids"]
    trace = ng.trace(ng.load(folder), "ab")
    assert [section.title for section in trace.sections] == ["Once more?"]
    assert trace.step("p").value.max() == pytest.approx(0.4)
    assert run("trace", folder, "ab")[0] == 0
    code, refused = run("export", folder, "--to", "arpa", "--out", tmp_path / "x")
    assert (code, refused["error"][:22]) == (2, "again has no ARPA file")
    code, refused = run("neighbors", folder, "a")
    assert (code, "again has no vectors" in refused["error"]) == (2, True)
    assert "again" in repr(ng.load(folder)) or "Again" in repr(ng.load(folder))
    assert "share" in ng.load(folder)._repr_html_()


def test_it_is_a_part_of_mixtures_and_compared(again, run, tmp_path):
    folder, text = again
    mixed = tmp_path / "mixed"
    assert run("mix", folder, "--uniform", "--weights", "0.75,0.25", "--out", mixed)[0] == 0
    V, loaded = ng.load(folder).model.vocab_size, ng.load(mixed).model
    assert np.exp(loaded.log_probs([[0]])[0, 0]) == pytest.approx(0.75 * 0.4 + 0.25 / V)
    assert [part.kind for part in loaded.parts] == ["again", "uniform"]
    made = run("eval", folder, mixed, text)[1]
    assert [Path(model["path"]).name for model in made["models"]] == ["mixed", "again"]
    assert "skipped" in made["rankings"][0]["where"][1]  # by the longest context seen: it keeps no count of contexts
    trace = ng.trace(ng.load(mixed), "ab")
    assert any("Once more?" in section.title for section in trace.all_sections)


CONTRACT = [
    test
    for name, test in vars(contract).items()
    if name.startswith("test_") and list(inspect.signature(test).parameters) == ["name", "text", "order"]
]


@pytest.mark.parametrize("test", CONTRACT, ids=lambda test: test.__name__)
def test_it_holds_the_contract_of_every_model(test, monkeypatch):
    monkeypatch.setitem(KINDS, "again", "tests.toys:Again")
    monkeypatch.setattr(contract, "made", lambda name, text, order: Again(contract.CORPORA[text].vocab_size, [0.3]))
    test("again", "lines", 2)


def test_a_kind_without_a_line_is_refused(tmp_path):
    with pytest.raises(InputError, match="again cannot be stored: of kind 'again', expected one of nplm"):
        TextModel(Mixture([Again(4, [0.5]), Uniform(4)], [0.5, 0.5]), tokenizer_class("chars").train(["abcd"])).save(
            tmp_path
        )


# ---- an export, and an output layer ----

LINES = {
    "families.py": {
        "EXPORTS = {\n": 'EXPORTS = {\n    "words": "neuralgram.exporting.words:WordList",\n',
        "HEADS = {\n": 'HEADS = {\n    "floor": "neuralgram.neural.heads.floor:Floor",\n',
    }
}
FILES = {
    "exporting/words.py": '''
"""A vocabulary as a list."""
from dataclasses import dataclass
from neuralgram.exporting import Export, Written
from neuralgram.settings import setting

class WordList(Export):
    help = "the symbols, one a line"
    use = "read it in any editor"

    @dataclass(frozen=True)
    class Settings:
        first: int = setting(1000, help="So many symbols at most.", low=1)

    @classmethod
    def write(cls, model, path, settings):
        symbols = model.tokenizer.symbols()[: settings.first]
        path.write_text("\\n".join(symbols))
        return Written({"symbols": len(symbols)}, f"{len(symbols)} symbols")
''',
    "neural/heads/floor.py": '''
"""P = (1 - share) softmax(y) + share / V: no token has less than share / V."""
import math
from dataclasses import dataclass
import numpy as np
import torch
from neuralgram.explanation import Panel, Quantity
from neuralgram.neural.heads.softmax import VectorHead
from neuralgram.settings import setting

class Floor(VectorHead):
    @dataclass(frozen=True)
    class Settings:
        share: float = setting(0.1, help="What all tokens share evenly.", above=0, below=1)

    def _raised(self, y):
        share = self.options.share
        floor = torch.tensor(math.log(share / self.vocab_size), dtype=y.dtype, device=y.device)
        return torch.logaddexp(math.log1p(-share) + y.log_softmax(1), floor)

    def logits(self, f):
        return self._raised(self.affine(f))

    def log_probs(self, f):
        return self._raised(self.affine(f).double())

    def loss(self, f, y, rng=None):
        return -self.logits(f).gather(1, y[:, None])[:, 0]

    @torch.no_grad()
    def nll(self, f, y):
        return -self.log_probs(f).gather(1, y[:, None])[:, 0]

    @torch.no_grad()
    def explain(self, f, words):
        p = self.log_probs(f).exp()[0].double().numpy()
        return (Panel("Raised from the floor", (Quantity("p", np.asarray(p), "(1 - s) softmax(y) + s/V"),)),)
''',
}
SCRIPT = """
import contextlib, io, json, sys
from pathlib import Path
import numpy as np
import neuralgram as ng
from neuralgram.cli import main
from neuralgram.cli.reference import reference, settings

folder = Path(sys.argv[1])
(folder / "text.txt").write_text("the cat sat on the mat and the dog sat on the log\\n" * 20)

def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
        main([str(a) for a in arguments])
    return out.getvalue(), err.getvalue()

out = folder / "model"
train = ("train", "nplm", folder / "text.txt", "--out", out, "--steps", 5, "--d-hidden", 6, "--d-emb", 4)
train += ("--head", "floor")
found = {"where": ng.__file__, "commands": reference(), "settings": settings()}
found["listing"] = run(*train, "--head-option", "help")[0]
found["refused"] = run(*train, "--head-option", "share=2")[1]
found["trained"] = run(*train, "--head-option", "share=0.4", "--tokenizer", "chars")[1]
found["info"] = json.loads(run("info", out, "--json")[0])
found["trace"] = run("trace", out, "the cat ", "--target", "s")[0]
found["refused-page"] = run("export", out, "--to", "html", "--out", folder / "x.html")[1]
found["words"] = json.loads(run("export", out, "--to", "words", "--first", 3, "--out", folder / "x", "--json")[0])
found["file"] = (folder / "x").read_text()
found["not-its-own"] = run("export", out, "--to", "words", "--title", "T", "--out", folder / "y")[1]
p = np.exp(ng.load(out).model.log_probs([[0] * ng.load(out).model.context])[0])
found["least"], found["V"] = p.min(), len(p)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    copy_of_the_package(folder, LINES, FILES)
    found = json.loads(run_on(folder, "-c", SCRIPT, folder).splitlines()[-1])
    assert Path(found["where"]).is_relative_to(folder)
    return folder, found


def test_a_new_export_is_an_option_a_row_and_a_file(edited):
    _, found = edited
    assert "--to [words|html|arpa]" in found["commands"]
    assert "words: the symbols, one a line" in found["commands"]
    assert "--first INTEGER" in found["commands"]
    assert "| `first` | whole number of at least 1 | 1000 | 1000 | So many symbols at most. |" in found["settings"]
    assert (found["words"]["to"], found["words"]["symbols"]) == ("words", 3)
    assert len(found["file"].splitlines()) == 3
    assert "option title: words has first" in found["not-its-own"]


def test_a_new_output_layer_is_an_option_trained_kept_told_of_and_traced(edited):
    _, found = edited
    assert "--head [floor|softmax|" in found["commands"]
    assert "## The output layer floor" in found["settings"]
    assert "| `share` | number above 0 and below 1 | 0.1 | 0.1 | What all tokens share evenly. |" in found["settings"]
    assert "share: number above 0 and below 1" in found["listing"]
    assert "share 2: expected a number above 0 and below 1" in found["refused"]
    assert (found["info"]["model"]["head"], found["info"]["model"]["head_options"]) == ("floor", {"share": 0.4})
    assert found["least"] >= 0.4 / found["V"] - 1e-7
    assert "Raised from the floor" in found["trace"]
    assert "the head 'floor': expected one of softmax" in found["refused-page"]


@pytest.mark.slow
def test_it_is_held_by_the_contract_of_every_output_layer(edited):
    folder, _ = edited
    root = Path(__file__).parent.parent
    said = run_on(folder, "-m", "pytest", "-q", "-n", "0", root / "tests/contracts/test_heads.py", "-k", "floor-direct")
    assert "passed" in said or "[100%]" in said
