"""Model directories: what is written, that it comes back, and how a broken one is refused."""

import json
import struct

import numpy as np
import pytest

import neuralgram as ng
from neuralgram import modeldir
from neuralgram.errors import InputError, ModelDirError
from neuralgram.modeldir import Saved
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
        {"d_hidden": 0},
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
