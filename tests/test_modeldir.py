"""Model directories: what is written, that it comes back, and how a broken one is refused."""

import json
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import neuralgram as ng
from neuralgram import modeldir
from neuralgram.errors import InputError, ModelDirError
from neuralgram.mixture import Mixture, Uniform
from neuralgram.modeldir import Saved, bytes_on_disk
from neuralgram.ngram import fit
from neuralgram.text.tokenizers import load_tokenizer, tokenizer_class


@pytest.fixture
def net():
    return ng.NPLM(7, 3, 4, 5, rng=ng.PCG32(3))


def header(path):
    data = path.read_bytes()
    return json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])


def test_what_the_contract_asks_for(net, tmp_path):
    ng.save_nplm(net, tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config == {
        "tl_arch": "nplm", "vocab_size": 7, "tl_context": 3, "tl_d_emb": 4, "hidden_size": 5, "tl_direct": True,
    }  # fmt: skip
    tensors = header(tmp_path / "m" / "model.safetensors")
    assert tensors.pop("__metadata__") == {"format": "tinyllm", "tl_arch": "nplm"}
    assert {name: (t["dtype"], t["shape"]) for name, t in tensors.items()} == {
        "emb.weight": ("F32", [7, 4]),
        "hidden.weight": ("F32", [5, 12]),
        "hidden.bias": ("F32", [5]),
        "out.weight": ("F32", [7, 5]),
        "out.bias": ("F32", [7]),
        "direct.weight": ("F32", [7, 12]),
    }


def test_equal_models_make_equal_files(net, tmp_path):
    for number in range(12):  # the library's own order of metadata changes from call to call
        ng.save_nplm(net, tmp_path / str(number))
    assert len({(tmp_path / str(number) / "model.safetensors").read_bytes() for number in range(12)}) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"direct": False},
        {"d_hidden": []},
        {"d_hidden": [6, 5], "activation": "relu", "dropout": 0.5},
        {"tie": True, "direct": False},
    ],
)
def test_a_saved_network_comes_back_the_same(options, tmp_path):
    settings = {"d_hidden": 5, **options}
    net = ng.NPLM(7, 3, 4, **settings, rng=ng.PCG32(3))
    ng.save_nplm(net, tmp_path)
    again = ng.load_nplm(tmp_path)
    x = np.array([[0, 1, 2], [6, 6, 6]])
    assert np.array_equal(net.log_probs(x), again.log_probs(x))
    assert again.config() == net.config()
    assert list(again.state_dict()) == list(net.state_dict())


def test_a_directory_of_another_engine_loads(net, tmp_path):
    ng.save_nplm(net, tmp_path)
    (tmp_path / "neuralgram.json").unlink()
    x = np.array([[0, 1, 2]])
    assert np.array_equal(net.log_probs(x), ng.load_nplm(tmp_path).log_probs(x))
    with pytest.raises(ModelDirError, match=r"no tokenizer\.json"):
        ng.load(tmp_path)


def test_a_tokenizer_travels_with_its_model(tmp_path):
    words = tokenizer_class("words").train(["the cat sat on the mat"])
    net = ng.NPLM(words.vocab_size + 1, 2, 3, 4)
    ng.save_nplm(net, tmp_path, words)
    model = ng.load(tmp_path)
    assert model.boundary == "document"
    assert model.tokenizer.hash == words.hash
    assert load_tokenizer((tmp_path / "tokenizer.json").read_text()).symbols() == words.symbols()


def test_wrong_tokenizers_are_refused(net, tmp_path):
    with pytest.raises(ValueError, match="tokenizer 'letters': expected one of bytes, chars, words, bpe"):
        ng.save_nplm(net, tmp_path / "a", "letters")
    with pytest.raises(InputError, match="makes 4"):
        ng.save_nplm(net, tmp_path / "b", tokenizer_class("words").train(["a b c"]))
    assert not (tmp_path / "a").exists()


def break_arch(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "tl_arch": "gpt"}))


def flip(folder):
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (break_arch, "tl_arch 'gpt'; expected one of nplm"),
        (flip, r"model\.safetensors: altered or truncated"),
        (lambda d: (d / "model.safetensors").write_bytes(b""), "altered or truncated"),
        (lambda d: (d / "model.safetensors").unlink(), r"model\.safetensors is missing"),
        (lambda d: (d / "config.json").write_text("{"), "not JSON"),
        (lambda d: (d / "neuralgram.json").write_text("[]"), "expected a JSON object"),
        (lambda d: (d / "neuralgram.json").write_text('{"format": 99}'), "format 99; this version reads format 1"),
    ],
)
def test_a_damaged_directory_is_refused_in_one_line(net, tmp_path, damage, message):
    ng.save_nplm(net, tmp_path)
    damage(tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        ng.load_nplm(tmp_path)
    assert isinstance(caught.value, ModelDirError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: (d / "model.safetensors").write_bytes(b"\x10"), "not a whole safetensors file"),
        (lambda d: (d / "config.json").write_text('{"tl_arch": "nplm"}'), "hidden_size, tl_context"),
        (break_arch, "tl_arch 'gpt'"),
    ],
)
def test_so_is_a_damaged_directory_of_another_engine(net, tmp_path, damage, message):
    ng.save_nplm(net, tmp_path)
    (tmp_path / "neuralgram.json").unlink()
    damage(tmp_path)
    with pytest.raises(ModelDirError, match=message):
        ng.load_nplm(tmp_path)


def test_tensors_that_do_not_fit_the_sizes_are_refused(net, tmp_path):
    ng.save_nplm(net, tmp_path)
    (tmp_path / "neuralgram.json").unlink()
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_size": 6}))
    with pytest.raises(ModelDirError, match=r"hidden\.weight"):
        ng.load_nplm(tmp_path)


def test_no_directory_and_no_model(tmp_path):
    with pytest.raises(ModelDirError, match="no such model directory"):
        ng.load(tmp_path / "nowhere")
    with pytest.raises(ModelDirError, match="not a model directory"):
        ng.load(tmp_path)


def test_a_full_disk_leaves_the_old_model_whole(net, tmp_path, monkeypatch):
    ng.save_nplm(net, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        ng.save_nplm(ng.NPLM(7, 3, 4, 5, rng=ng.PCG32(4)), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_model_and_its_parts(tmp_path):
    from neuralgram.ngram import estimator

    ids = np.array([0, 1, 2, 0, 1, 2, 3])
    model = estimator("add-k").fit(ng.Corpus(ids, 5), order=2, k=0.5)
    modeldir.save(tmp_path, Saved(model, None, "stream"))
    again = modeldir.load(tmp_path).model
    assert np.array_equal(again.nll(ids), model.nll(ids))


def test_a_network_of_64_bits_is_stored_in_32_as_the_contract_says(tmp_path):
    net = ng.NPLM(7, 3, 4, 5, rng=ng.PCG32(3)).double()
    ng.save_nplm(net, tmp_path)
    tensors = header(tmp_path / "model.safetensors")
    assert {t["dtype"] for name, t in tensors.items() if name != "__metadata__"} == {"F32"}
    x = np.array([[0, 1, 2], [6, 6, 6]])
    np.testing.assert_allclose(ng.load_nplm(tmp_path).log_probs(x), net.log_probs(x), atol=1e-6)


class Coin(ng.LanguageModel):
    """A model that is no more than the two answers."""

    vocab_size, context = 2, 0

    def log_probs(self, contexts):
        return np.log(np.full((len(contexts), 2), 0.5))

    def context_nll(self, contexts, targets):
        return np.log(np.full(len(targets), 2.0))


def test_a_model_of_no_kind_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="Coin cannot be stored: of kind 'model', expected one of nplm"):
        modeldir.save(tmp_path / "coin", Saved(Coin(), None))
    assert not (tmp_path / "coin").exists()
    modeldir.save(tmp_path / "m", Saved(mixture(0.5), None))
    before = state_of(tmp_path / "m")
    with pytest.raises(InputError, match="Coin cannot be stored"):
        modeldir.save(tmp_path / "m", Saved(Mixture([Coin(), Coin()], [0.5, 0.5]), None))
    assert state_of(tmp_path / "m") == before


def rewrite(path, change=lambda said: said):
    """The same content in another order and spacing, after `change`."""
    said = change(json.loads(path.read_text()))
    path.write_text(json.dumps(dict(reversed(said.items())), separators=(" ,", ":  ")))


def forget_contents(folder):
    """As an older version wrote it, which kept no hash of what the JSON files say."""
    rewrite(folder / "neuralgram.json", lambda said: {k: v for k, v in said.items() if k != "contents"})


@pytest.mark.parametrize("older", [False, True])
def test_what_is_written_anew_with_the_same_content_is_the_same(tmp_path, older):
    words = tokenizer_class("words").train(["the cat sat on the mat"])
    net = ng.NPLM(words.vocab_size, 2, 3, 4)
    modeldir.save(tmp_path, Saved(net, words))
    if older:
        forget_contents(tmp_path)
    else:
        rewrite(tmp_path / "tokenizer.json")
    rewrite(tmp_path / "config.json")
    x = np.array([[0, 1]])
    assert np.array_equal(ng.load(tmp_path).model.log_probs(x), net.log_probs(x))
    for wrong in ({"hidden_size": 5}, {"hidden_size": 4.0}, {"tl_direct": 1}, {"further": None}):
        whole = (tmp_path / "config.json").read_bytes()
        rewrite(tmp_path / "config.json", lambda said, wrong=wrong: said | wrong)
        with pytest.raises(ModelDirError, match=r"altered or truncated|disagree"):
            ng.load(tmp_path)
        (tmp_path / "config.json").write_bytes(whole)
    rewrite(tmp_path / "tokenizer.json", lambda said: said | {"truncation": {"max_length": 3}})
    with pytest.raises(ModelDirError, match=r"tokenizer\.json: altered"):
        ng.load(tmp_path)


IDS = np.array([0, 1, 2, 0, 1, 2, 3, 1, 1, 2])


def mixture(weight, parts=(2, 3)):
    made = [fit("add-k", ng.Corpus(IDS, 5), n, k=weight) for n in parts]
    return Mixture([*made, Uniform(5)], [weight / len(parts)] * len(parts) + [1 - weight])


def state_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_mixture_holds_its_parts_by_their_hashes(tmp_path):
    modeldir.save(tmp_path / "a", Saved(mixture(0.5), None))
    modeldir.save(tmp_path / "b", Saved(mixture(0.25), None))
    first = tmp_path / "a" / "parts" / "0"
    shutil.rmtree(first)
    shutil.copytree(tmp_path / "b" / "parts" / "0", first)
    with pytest.raises(ModelDirError, match="parts/0: another model than was saved there"):
        modeldir.load(tmp_path / "a")
    for name in (".", "parts/0", "parts/1", "parts/2"):
        forget_contents(tmp_path / "a" / name)
    modeldir.load(tmp_path / "a")  # of an older version nobody knows
    nested = Mixture([mixture(0.5), Uniform(5)], [0.5, 0.5])
    modeldir.save(tmp_path / "c", Saved(nested, None))
    assert np.array_equal(modeldir.load(tmp_path / "c").model.nll(IDS), nested.nll(IDS))
    rewrite(tmp_path / "c/parts/0/parts/1/neuralgram.json", lambda said: said | {"boundary": "line"})
    with pytest.raises(ModelDirError, match="parts/0/parts/1: another model"):
        modeldir.load(tmp_path / "c")


def test_a_part_swapped_for_a_network_of_another_engine_is_refused(tmp_path):
    modeldir.save(tmp_path, Saved(Mixture([ng.NPLM(5, 1, 2, 3), Uniform(5)], [0.5, 0.5]), None))
    (tmp_path / "parts/0/neuralgram.json").unlink()
    with pytest.raises(ModelDirError, match="parts/0: another model"):
        modeldir.load(tmp_path)


def test_only_what_belongs_to_a_model_is_counted_and_kept(tmp_path):
    modeldir.save(tmp_path, Saved(mixture(0.5, (2, 3, 4)), None))
    (tmp_path / "notes.json").write_text("{}")
    (tmp_path / "parts" / "7").mkdir()
    (tmp_path / "parts" / "7" / "config.json").write_text("{}")
    own = [path for path in state_of(tmp_path) if path.parts[:2] != ("parts", "7") and path.name != "notes.json"]
    assert bytes_on_disk(tmp_path) == sum((tmp_path / path).stat().st_size for path in own)
    modeldir.save(tmp_path, Saved(mixture(0.25), None))
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["0", "1", "2"]
    modeldir.save(tmp_path, Saved(Uniform(5), None))
    assert not (tmp_path / "parts").exists()
    assert (tmp_path / "notes.json").read_text() == "{}"
    assert bytes_on_disk(tmp_path / "nowhere") is None


class Killed(BaseException):
    """The process ends here: nothing that comes after may touch the disk."""


class Disk:
    """Counts what is done to the disk; from the step `last` on every further one ends the process."""

    def __init__(self, monkeypatch, last):
        self.steps, self.last = 0, last
        for owner, name in ((Path, "replace"), (Path, "mkdir"), (Path, "unlink"), (Path, "rmdir"), (os, "fsync")):
            monkeypatch.setattr(owner, name, self.counting(getattr(owner, name)))
        monkeypatch.setattr(shutil, "rmtree", self.remove)

    def counting(self, real):
        def step(*arguments, **options):
            self.steps += 1
            if self.steps > self.last:
                raise Killed
            return real(*arguments, **options)

        return step

    def remove(self, folder, ignore_errors=False):
        """Entry by entry: a folder is not removed at once."""
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()


@pytest.mark.parametrize("after", [mixture(0.25), mixture(0.25, (2, 3, 4)), Uniform(5)], ids=["same", "more", "none"])
def test_killed_at_any_moment_the_old_model_or_the_new_one_is_there_whole(tmp_path, monkeypatch, after):
    before, seen = mixture(0.5), []
    old, new = before.nll(IDS[2:]).tolist(), after.nll(IDS[2:]).tolist()
    last, done = 0, False
    while not done:
        folder = tmp_path / str(last)
        modeldir.save(folder, Saved(before, None))
        (folder / "run").mkdir()
        with monkeypatch.context() as patched:
            Disk(patched, last)
            try:
                modeldir.save(folder, Saved(after, None))
                done = True
            except Killed:
                pass
        found = modeldir.load(folder).model.nll(IDS[2:]).tolist()
        assert found in (old, new)
        assert bytes_on_disk(folder) > 0
        seen.append(found == new)
        modeldir.save(folder, Saved(before, None))  # and what was left is no hindrance
        assert modeldir.load(folder).model.nll(IDS[2:]).tolist() == old
        assert not [
            path.name for path in folder.iterdir() if path.name.startswith(".staged") or path.name == ".complete"
        ]
        assert (folder / "run").is_dir()
        last += 1
    assert seen == sorted(seen)  # first the old, then the new
    assert last > 20
