"""ARPA files: KenLM's read here, ours read by KenLM, the same log10 P everywhere; what is meant, what is refused."""

from __future__ import annotations

import gzip
import math
import warnings

import numpy as np
import pytest

from neuralgram.errors import InputError, TextError
from neuralgram.ngram import fit
from neuralgram.ngram.arpa import escape, read_arpa, write_arpa
from neuralgram.text.windows import Corpus

# A trigram in which "b c" falls back twice; log10 P and weights chosen by hand.
SMALL = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=1

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.3
-0.7\t</s>
-0.5\ta\t-0.2
-0.6\tb\t-0.1

\\2-grams:
-0.4\t<s> a\t-0.15
-0.3\ta b\t-0.25
-0.2\tb </s>
-0.9\ta a\t0.05

\\3-grams:
-0.1\t<s> a b

\\end\\
"""


def read(tmp_path, text, name="x.arpa"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_arpa(path)


def log10(arpa, *words):
    """log10 P of the last word after the others, each a symbol; `<s>` is the boundary."""
    ids = [arpa.model.boundary if w in ("<s>", "</s>") else arpa.symbols.index(w) for w in words]
    return -arpa.model.context_nll([ids[:-1]], ids[-1:])[0] / math.log(10)


def test_the_back_off_rule_by_hand(tmp_path):
    arpa = read(tmp_path, SMALL)
    assert arpa.symbols == ["<unk>", "a", "b", "</s>"]
    assert (arpa.model.vocab_size, arpa.model.order, arpa.model.boundary, arpa.unknown) == (4, 3, 3, 0)
    assert log10(arpa, "<s>", "a", "b") == pytest.approx(-0.1)
    assert log10(arpa, "a", "a", "b") == pytest.approx(0.05 - 0.3)
    assert log10(arpa, "<s>", "a", "</s>") == pytest.approx(-0.15 - 0.2 - 0.7)
    assert log10(arpa, "b", "b", "</s>") == pytest.approx(-0.2)
    assert log10(arpa, "<s>", "<s>", "b") == pytest.approx(-0.3 - 0.6)
    assert log10(arpa, "a", "b", "<unk>") == pytest.approx(-0.25 - 0.1 - 1.0)


MEANT = {
    "byte order mark": lambda s: "\ufeff" + s,
    "CRLF": lambda s: s.replace("\n", "\r\n"),
    "spaces and tabs": lambda s: s.replace("\t", " \t  ").replace("a b", "a \t b"),
    "no blank lines": lambda s: s.replace("\n\n", "\n"),
    "text before": lambda s: "made by hand\n\n" + s,
    "decimal commas": lambda s: s.replace(".", ","),
    "a weight in the top order": lambda s: s.replace("<s> a b", "<s> a b\t-0.7"),
    "weights written out": lambda s: s.replace("b </s>\n", "b </s>\t0\n").replace("</s>\n-0.5", "</s>\t0\n-0.5"),
    "capitals": lambda s: s.replace("<unk>", "<UNK>"),
    "-inf for <s>": lambda s: s.replace("-99", "-inf"),
    "KenLM's 0 for <s>": lambda s: s.replace("-99", "0"),
    "spaced counts": lambda s: s.replace("ngram 1=5", "ngram  1 = 5"),
    "another line order": lambda s: s.replace(
        "-0.4\t<s> a\t-0.15\n-0.3\ta b\t-0.25", "-0.3\ta b\t-0.25\n-0.4\t<s> a\t-0.15"
    ),
    "no last line end": lambda s: s.rstrip("\n"),
    "<s> inside": lambda s: s.replace("2=4", "2=5").replace("-0.9\ta a", "-99\ta <s>\n-0.9\ta a"),
}


@pytest.mark.parametrize("change", MEANT.values(), ids=MEANT)
def test_read_as_meant(tmp_path, change):
    plain, other = read(tmp_path, SMALL), read(tmp_path, change(SMALL), "y.arpa")
    contexts = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    assert other.symbols == plain.symbols
    np.testing.assert_array_equal(other.model.log_probs(contexts), plain.model.log_probs(contexts))


REFUSED = {
    "no data line": (lambda s: s.replace("\\data\\", "data"), 23, "no line that reads"),
    "cut off": (lambda s: s[: s.index("-0.2\tb </s>")], 14, "2 2-grams stand here, 4 were announced"),
    "no end": (lambda s: s.replace("\\end\\", ""), 20, "expected \\\\end\\\\, found the end of the file"),
    "a probability above 1": (lambda s: s.replace("-0.3\ta b", "0.3\ta b"), 14, "a probability above 1"),
    "not a number": (lambda s: s.replace("-0.3\ta b", "nan\ta b"), 14, "'nan' is no logarithm"),
    "two commas": (lambda s: s.replace("-0.3\ta b", "-1,234,5\ta b"), 14, "no logarithm"),
    "a foreign word": (lambda s: s.replace("a b\t-0.25", "a z\t-0.25"), 14, "'z' is not among the 1-grams"),
    "white space in a word": (lambda s: s.replace("a b\t-0.25", "a b c d\t-0.25"), 14, "6 fields"),
    "an n-gram twice": (lambda s: s.replace("a a\t0.05", "a b\t0.05"), 16, "this 2-gram is listed twice"),
    "a word twice": (lambda s: s.replace("\tb\t-0.1", "\ta\t-0.1"), 11, "'a' is listed twice"),
    "two unknowns": (lambda s: s.replace("\tb\t-0.1", "\t<UNK>\t-0.1"), 11, "'<unk>' is listed twice"),
    "orders out of turn": (lambda s: s.replace("ngram 2=4\n", ""), 3, "expected 'ngram 2=…'"),
    "a section out of turn": (lambda s: s.replace("\\2-grams", "\\3-grams"), 12, "expected"),
}


@pytest.mark.parametrize(("change", "line", "said"), REFUSED.values(), ids=REFUSED)
def test_refused_with_the_line(tmp_path, change, line, said):
    with pytest.raises(TextError, match=said) as error:
        read(tmp_path, change(SMALL))
    assert abs(int(str(error.value).split("line ")[1].split(":")[0]) - line) <= 1
    assert "\n" not in str(error.value)


def test_what_is_no_text_is_refused(tmp_path):
    with pytest.raises(TextError, match="expected an ARPA file"):
        read(tmp_path, SMALL.replace("\ta\t", "\té\t").encode("latin-1"))
    with pytest.raises(TextError, match="expected an ARPA file"):
        read(tmp_path, gzip.compress(SMALL.encode())[:-30])


def test_an_empty_order_and_missing_parts(tmp_path):
    """Bigram "a b" and "b b" are not listed though "a b b" is; they get what backing off gives them."""
    text = SMALL.replace("ngram 2=4", "ngram 2=0").replace("<s> a b", "a b b")
    start, stop = text.index("-0.4"), text.index("\\3-grams")
    arpa = read(tmp_path, text[:start] + text[stop:])
    assert log10(arpa, "a", "b", "b") == pytest.approx(-0.1)
    assert log10(arpa, "b", "a", "b") == pytest.approx(-0.2 - 0.6)
    assert log10(arpa, "b", "b", "b") == pytest.approx(-0.1 - 0.6)


def kenlm_of(path):
    kenlm = pytest.importorskip("kenlm", reason="the kenlm module is not installed")
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    return kenlm.Model(str(path), config)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_kenlms_files_load_and_give_what_kenlm_gives(order, data):
    path = data("kenlm") / f"brown3000.o{order}.arpa.gz"
    lines = [line.split() for line in (data("kenlm") / "probe300.txt").read_text(encoding="utf-8").split("\n")[:-1]]
    theirs, arpa = kenlm_of(path), read_arpa(path)
    expected = [p for line in lines for p, _, _ in theirs.full_scores(" ".join(line))]
    number = {word: i for i, word in enumerate(arpa.symbols)}
    V, b = arpa.model.vocab_size, arpa.model.boundary
    ids = np.array([i for line in lines for i in (*(number.get(word, arpa.unknown) for word in line), b)])
    got = -arpa.model.score(Corpus(ids, V, b).windows(order - 1)) / math.log(10)
    np.testing.assert_allclose(got, expected, atol=1e-5)


UNITS = [
    ("the", "cat", "sat"),
    ("the", "dog", "ran"),
    (),
    ("a b", "<s>", "\n", "</s>"),
    ("the", "the", "cat", "ran"),
] * 3
SYMBOLS = ["<unk>", "the", "cat", "sat", "dog", "ran", "a b", "<s>", "\n", "</s>", "never", "the end"]


@pytest.mark.parametrize("name", ["kneser-ney", "modified-kneser-ney"])
@pytest.mark.parametrize("form", ["interpolated", "backoff"])
@pytest.mark.parametrize("prune", [(), (0, 0, 3)], ids=["whole", "pruned"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_kenlm_gives_our_files_the_same(tmp_path, name, form, prune, suffix):
    V, b = len(SYMBOLS), len(SYMBOLS) - 1
    ids = np.array([i for unit in UNITS for i in (*map(SYMBOLS.index, unit), b)])
    discounts = [[0.5, 0.9, 1.2]] * 3 if name.startswith("modified") else [0.5] * 3
    model = fit(name, Corpus(ids, V, b), 3, form=form, prune=prune, discounts=discounts)
    path = tmp_path / f"ours.arpa{suffix}"
    write_arpa(model, SYMBOLS, path, unknown=0)
    theirs = kenlm_of(path)
    probe = [*UNITS[:5], ("cat", "the", "<unk>", "never"), ("dog",), ("a b", "a b")]
    ids = np.array([i for unit in probe for i in (*map(SYMBOLS.index, unit), b)])
    got = -model.score(Corpus(ids, V, b).windows(2)) / math.log(10)
    lines = [" ".join(word if word == "<unk>" else escape(word) for word in unit) for unit in probe]
    np.testing.assert_allclose(got, [p for line in lines for p, _, _ in theirs.full_scores(line)], atol=1e-5)
    again = read_arpa(path)
    order = [again.symbols.index("<unk>" if i == 0 else "</s>" if i == b else escape(s)) for i, s in enumerate(SYMBOLS)]
    np.testing.assert_allclose(again.model.log_probs([[3, 1]])[0, order], model.log_probs([[3, 1]])[0], atol=1e-7)


def test_a_stream_of_letters(tmp_path):
    symbols = [" ", "a", "b", "▂"]
    ids = np.random.default_rng(0).integers(0, 4, 200) % 3
    model = fit("kneser-ney", Corpus(ids, 4), 2, discounts=[0.5, 0.5])
    write_arpa(model, symbols, tmp_path / "s.arpa")
    theirs, line = kenlm_of(tmp_path / "s.arpa"), " ".join(escape(symbols[i]) for i in ids)
    expected = [p for p, _, _ in theirs.full_scores(line, bos=False, eos=False)]
    np.testing.assert_allclose(-model.nll(ids) / math.log(10), expected[1:], atol=1e-5)
    again = read_arpa(tmp_path / "s.arpa")
    assert (again.symbols, again.model.boundary) == (["▁", "a", "b", "▂"], None)
    np.testing.assert_allclose(again.model.nll(ids), model.nll(ids), atol=1e-7)


def test_symbols_that_would_be_written_alike_are_refused(tmp_path):
    model = fit("kneser-ney", Corpus(np.arange(30) % 3, 3), 2, discounts=[0.5, 0.5])
    with pytest.raises(InputError, match="ids 0 and 2 would both be written '▁'"):
        write_arpa(model, [" ", "a", "▁"], tmp_path / "s.arpa")
    with pytest.raises(InputError, match="empty"):
        write_arpa(model, ["", "a", "b"], tmp_path / "s.arpa")
    with pytest.raises(InputError, match="2 symbols"):
        write_arpa(model, ["a", "b"], tmp_path / "s.arpa")
    assert not list(tmp_path.iterdir())


def test_orders_kenlm_cannot_load_are_written_with_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit("kneser-ney", Corpus(np.arange(30) % 3, 3), 1)
    with pytest.warns(UserWarning, match="order 1: KenLM loads 2 to 6"):
        write_arpa(model, ["a", "b", "c"], tmp_path / "s.arpa")
    np.testing.assert_allclose(read_arpa(tmp_path / "s.arpa").model.nll([0, 1]), model.nll([0, 1]))
