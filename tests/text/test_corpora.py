"""Corpora against plain Python: units, splits, vocabularies, storage, what is refused, what is counted."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralgram.errors import InputError, TextError
from neuralgram.families import TOKENIZERS
from neuralgram.text.corpora import Corpora, build_corpora, load_corpora
from neuralgram.text.pieces import PIECE
from neuralgram.text.scores import text_stats
from neuralgram.text.sources import Document, text_document
from neuralgram.text.splits import PARTS, Split, assign_units, parse_split
from neuralgram.text.store import IdWriter, load_corpus, save_corpus
from neuralgram.text.strings import encode_units
from neuralgram.text.tokenizers import Bpe, Bytes, Chars, Words
from neuralgram.text.windows import Corpus

LINES = [f"line {i} of the text" for i in range(40)]
TEXT = "\n".join(LINES) + "\n"
NAMES = list(TOKENIZERS)
PAIRS = Bpe.train(["abab " * 50], vocab_size=270)


def units(corpora: Corpora, part: str = "train") -> list[str]:
    """The decoded units of a part."""
    ids = corpora.part(part).ids.tolist()
    found, unit = [], []
    for token in ids:
        if token == corpora.part(part).boundary:
            found.append(corpora.tokenizer.decode(unit))
            unit = []
        else:
            unit.append(token)
    assert not unit
    return found


def build(text: str, **how: Any) -> Corpora:
    return build_corpora([text_document(text)], **how)


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_closed_once_each(name: str) -> None:
    for text, expected in [
        ("ab\ncd\n", ["ab", "cd"]),
        ("ab\ncd", ["ab", "cd"]),  # the last line does not lose its end
        ("ab\r\ncd\r", ["ab", "cd"]),
        ("\n\nab\n\n", ["", "", "ab", ""]),  # an empty line is a unit with nothing but its end
        ("a\u2028b\n", ["a\u2028b"] if name != "words" else ["a b"]),
    ]:
        corpora = build(text, tokenizer=name, boundary="line")
        assert units(corpora) == expected
        assert corpora.train.boundary == corpora.tokenizer.vocab_size == corpora.vocab_size - 1
        again = encode_units(corpora.tokenizer, "line", [text])
        assert (again.ids.tolist(), again.boundary) == (corpora.train.ids.tolist(), corpora.train.boundary)


@pytest.mark.parametrize("name", NAMES)
def test_documents_are_closed_once_each(name: str) -> None:
    texts = ["ab\ncd", "", "ab"]
    sources = [text_document(text) for text in texts]
    corpora = build_corpora(sources, tokenizer=name, boundary="document")
    assert units(corpora) == [text.replace("\n", " ") if name == "words" else text for text in texts]
    assert encode_units(corpora.tokenizer, "document", texts).ids.tolist() == corpora.train.ids.tolist()
    assert corpora.info["texts"]["train"]["documents"] == 3


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_glues_nothing_together(name: str) -> None:
    texts = ["ab\ncd", "", "ef\n", "gh"]
    corpora = build_corpora([text_document(text) for text in texts], tokenizer=name, boundary="stream")
    expected = "ab cd ef gh" if name == "words" else "ab\ncd\nef\ngh"
    assert corpora.tokenizer.decode(corpora.train.ids) == expected
    assert (corpora.train.boundary, corpora.vocab_size) == (None, corpora.tokenizer.vocab_size)
    assert corpora.info["texts"]["train"]["bytes"] == len("ab\ncd\nef\ngh")


def test_bytes_are_raw_but_for_the_ends_of_lines(tmp_path: Path) -> None:
    raw = b"\xef\xbb\xbfa\r\nb\xff\x00"
    (tmp_path / "r").write_bytes(raw)
    for boundary, expected in [
        ("stream", [*raw]),
        ("document", [*raw, 256]),
        ("line", [*b"\xef\xbb\xbfa", 256, *b"b\xff\x00", 256]),
    ]:
        corpora = build_corpora([tmp_path / "r"], tokenizer="bytes", boundary=boundary)
        assert corpora.train.ids.tolist() == expected
        assert corpora.vocab_size == 256 + (boundary != "stream")


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.text(alphabet="ab \n\r\té\u2028", max_size=12), min_size=1, max_size=5),
    boundary=st.sampled_from(["stream", "line", "document"]),
    name=st.sampled_from(["bytes", "chars", "words"]),
)
def test_ids_are_those_of_the_plain_reading(texts: list[str], boundary: str, name: str) -> None:
    plain = [text.replace("\r\n", "\n").replace("\r", "\n") for text in texts]
    if name == "bytes" and boundary != "line":
        plain = texts
    if not "".join(plain).strip():
        return
    made = {"bytes": Bytes(), "chars": Chars.train(plain, unknown=True), "words": Words.train(plain, unknown=True)}[
        name
    ]
    expected: list[int] = []
    for text in plain:
        lines = text.removesuffix("\n").split("\n") if text and boundary == "line" else [text]
        for line in lines if text or boundary != "line" else []:
            expected += [*made.encode(line).tolist(), *([] if boundary == "stream" else [made.vocab_size])]
    if boundary == "stream":
        filled = [text for text in plain if text]
        joined = [text if text.endswith("\n") else text + "\n" for text in filled[:-1]] + filled[-1:]
        expected = made.encode("".join(joined)).tolist()
    assert encode_units(made, boundary, texts).ids.tolist() == expected


def test_a_stream_is_cut_contiguously() -> None:
    corpora = build("abcdefghij" * 10, boundary="stream", split="80,15,rest")
    decoded = [corpora.tokenizer.decode(corpora.part(part).ids) for part in PARTS]
    assert decoded == ["abcdefghij" * 8, "abcdefghijabcde", "fghij"]
    half = build("abcdefghij" * 10, boundary="stream", split="0.5,0.25,0.25")
    assert [len(half.part(part)) for part in PARTS] == [50, 25, 25]
    some = build("abcdefghij" * 10, boundary="stream", split="10,5")
    assert ([len(some.train), len(some.part("valid"))], some.test) == ([10, 5], None)


@pytest.mark.parametrize("name", NAMES)
def test_units_are_assigned_whole_and_by_the_seed_alone(name: str) -> None:
    options = {"unknown": True} if name in ("chars", "words") else {"vocab_size": 270} if name == "bpe" else {}
    first = build(TEXT, tokenizer=name, options=options, boundary="line", split="0.8,0.1,0.1", vocab_from="all")
    parts = {part: units(first, part) for part in PARTS}
    assert [len(parts[part]) for part in PARTS] == [32, 4, 4]
    assert sorted(line for part in parts.values() for line in part) == sorted(LINES)
    assert all(part == sorted(part, key=LINES.index) for part in parts.values())  # in the order of the text
    again = build(TEXT, tokenizer=first.tokenizer, boundary="line", split="0.8,0.1,0.1")
    assert all(np.array_equal(first.part(part).ids, again.part(part).ids) for part in PARTS)
    other = build(TEXT, tokenizer=first.tokenizer, boundary="line", split="0.8,0.1,0.1", seed=1)
    assert units(other, "test") != parts["test"]


def test_the_assignment_is_fixed_for_ever_and_even() -> None:
    chosen = np.flatnonzero(assign_units(20, parse_split("15,2,3"), 0, "lines") == 2)
    assert chosen.tolist() == [3, 5, 19]
    counts = sum(assign_units(20, parse_split("15,2,3"), seed, "lines") == 2 for seed in range(400))
    # 400 draws of 3 in 20: each unit 60 times, standard deviation 7.1
    assert np.abs(counts - 60).max() < 4.5 * 7.1


@pytest.mark.parametrize("name", NAMES)
def test_one_document_is_cut_at_line_ends(name: str) -> None:
    options = {"vocab_size": 270} if name == "bpe" else {}
    corpora = build(TEXT, tokenizer=name, options=options, boundary="document", split="0.8,0.1,0.1")
    parts = [units(corpora, part) for part in PARTS]
    assert [len(part) for part in parts] == [1, 1, 1]
    if name == "words":
        words = " ".join(part[0] for part in parts).split()
        assert len(words) == len(TEXT.split())
        assert words[:160] == TEXT.split()[:160] == parts[0][0].split()  # no line ends among words: cut at any word
        return
    assert "".join(part[0] for part in parts) == TEXT
    assert all(part[0].endswith("\n") for part in parts)
    assert len(parts[0][0]) == pytest.approx(0.8 * len(TEXT), abs=25)
    again = build(TEXT, tokenizer=corpora.tokenizer, boundary="document", split="0.8,0.1,0.1")
    assert [units(again, part) for part in PARTS] == parts


def test_a_document_without_line_ends_is_cut_anyway() -> None:
    corpora = build("abcd" * 5, split="0.5,0.5")
    assert [units(corpora, part) for part in PARTS[:2]] == [["abcdabcdab"], ["cdabcdabcd"]]


@pytest.mark.parametrize("boundary", ["stream", "line", "document"])
def test_byte_pairs_are_learned_on_the_training_part_only(boundary: str) -> None:
    texts = ["train " * 200 + "\n" + "valid " * 200 + "\n"]
    corpora = build(texts[0], tokenizer="bpe", options={"vocab_size": 300}, boundary=boundary, split="0.5,0.5")
    learned = {symbol.strip() for symbol in corpora.tokenizer.symbols()}
    train = corpora.tokenizer.decode([i for i in corpora.train.ids.tolist() if i != corpora.train.boundary])
    assert ("train" in learned, "valid" in learned) == ("train" in train, "valid" in train)
    assert len(learned & {"train", "valid"}) == 1
    everything = build(
        texts[0], tokenizer="bpe", options={"vocab_size": 300}, boundary=boundary, split="0.5,0.5", vocab_from="all"
    )
    assert {"train", "valid"} <= {symbol.strip() for symbol in everything.tokenizer.symbols()}


def test_a_long_text_is_not_cut_within_a_byte_pair_token() -> None:
    text = "xy" + " abab" * (PIECE // 5 + 10)
    corpora = build(text, tokenizer=PAIRS, boundary="stream")
    assert corpora.train.ids.tolist() == PAIRS.encode(text).tolist()
    assert encode_units(PAIRS, "stream", [text]).ids.tolist() == PAIRS.encode(text).tolist()


def test_counts_of_byte_pair_tokens() -> None:
    corpora = build(
        "abab cdcd " * 50, tokenizer="bpe", options={"vocab_size": 270}, boundary="stream", split="20,10,rest"
    )
    assert [len(corpora.part(part)) for part in PARTS[:2]] == [20, 10]
    text = "".join(corpora.tokenizer.decode(corpora.part(part).ids) for part in PARTS)
    assert text == "abab cdcd " * 50


def test_fractions_of_byte_pair_tokens_are_of_bytes() -> None:
    text = "".join(chr(97 + i % 7) * (i % 5 + 1) + " " for i in range(300))
    corpora = build(text, tokenizer=PAIRS, boundary="stream", split="0.37,0.21,rest")
    parts = [corpora.tokenizer.decode(corpora.part(part).ids) for part in PARTS]
    last = [len(PAIRS.pieces[corpora.part(part).ids[-1]]) for part in PARTS]
    assert "".join(parts) == text
    assert len(parts[0]) - last[0] < round(0.37 * len(text)) <= len(parts[0])
    assert len(parts[0] + parts[1]) - last[1] < round(0.58 * len(text)) <= len(parts[0] + parts[1])


def test_the_vocabulary_comes_from_the_training_part() -> None:
    text = "a b a c a b d d"
    own = build(text, tokenizer="words", boundary="stream", split="4,2,2")
    assert own.tokenizer.symbols() == ["a", "b", "c", "<unk>"]
    assert own.part("test").ids.tolist() == [3, 3]
    everything = build(text, tokenizer="words", boundary="stream", split="4,2,2", vocab_from="all")
    assert (everything.tokenizer.symbols(), everything.tokenizer.unknown) == (["a", "b", "d", "c"], None)
    chars = build("aabac", boundary="stream", split="3,2")
    assert (chars.tokenizer.symbols(), chars.part("valid").ids.tolist()) == (["a", "b", "<unk>"], [0, 2])
    with pytest.raises(InputError, match=r"'d' is in the text .*no unknown symbol"):
        build("a d", tokenizer="words", options={"unknown": False}, boundary="stream", split="1,1")


def test_separate_files() -> None:
    corpora = build_corpora(
        [text_document("a b")], valid=[text_document("b c")], test=[text_document("a")], tokenizer="words"
    )
    assert [units(corpora, part) for part in PARTS] == [["a b"], ["b <unk>"], ["a"]]
    with pytest.raises(InputError, match="one of the two"):
        build_corpora([text_document("a b")], valid=[text_document("b")], split="0.5,0.5")


@pytest.mark.parametrize("boundary", ["stream", "line", "document"])
@pytest.mark.parametrize("name", NAMES)
def test_on_disk_and_in_memory_are_alike(tmp_path: Path, name: str, boundary: str) -> None:
    options = {"vocab_size": 300} if name == "bpe" else {}
    how: dict[str, Any] = {"tokenizer": name, "options": options, "boundary": boundary, "split": "0.8,0.1,0.1"}
    stored = build(TEXT, folder=tmp_path / "new" / "c", **how)
    memory = build(TEXT, **how)
    loaded = load_corpora(tmp_path / "new" / "c")
    assert loaded.tokenizer.hash == stored.tokenizer.hash == memory.tokenizer.hash
    assert loaded.info == memory.info == stored.info
    for part in PARTS:
        for other in (stored, loaded):
            assert isinstance(other.part(part).ids, np.memmap)
            assert np.array_equal(other.part(part).ids, memory.part(part).ids)
            assert other.part(part).boundary == memory.part(part).boundary
    assert sorted(path.name for path in (tmp_path / "new" / "c").iterdir()) == sorted(
        ["corpora.json", "tokenizer.json", *(f"{part}.{end}" for part in PARTS for end in ("bin", "json"))]
    )
    dtype = np.uint8 if memory.vocab_size <= 256 else np.uint16
    assert stored.train.ids.dtype == dtype == memory.train.ids.dtype


def test_stored_corpora_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    build(TEXT, folder=tmp_path, tokenizer="words")
    with pytest.raises(TextError, match="another tokenizer: expected the one with hash 0000"):
        load_corpus(tmp_path / "train", "0" * 64)
    Chars.train(["a"]).save(tmp_path / "tokenizer.json")
    with pytest.raises(TextError, match=r"tokenizer\.json is not the one"):
        load_corpora(tmp_path)
    data = (tmp_path / "train.bin").read_bytes()
    (tmp_path / "train.bin").write_bytes(data[:-1])
    with pytest.raises(TextError, match=rf"train\.bin: {len(data) - 1} bytes: expected"):
        load_corpus(tmp_path / "train")
    (tmp_path / "train.bin").unlink()
    with pytest.raises(TextError, match=r"train\.bin: No such file"):
        load_corpus(tmp_path / "train")
    for story in ("", "[]", '{"format": 9}', '{"format": 1}', '{"format": 1, "count": 1, "dtype": "nope"}'):
        (tmp_path / "train.json").write_text(story)
        with pytest.raises(TextError, match=r"train\.json: .*expected a stored corpus"):
            load_corpus(tmp_path / "train")
    with pytest.raises(TextError, match=r"none\.json: No such file"):
        load_corpus(tmp_path / "none")


def test_a_corpus_saved_by_hand(tmp_path: Path) -> None:
    save_corpus(Corpus(np.array([0, 300, 2]), 301, 300), tmp_path / "x.bin", "hash")
    assert json.loads((tmp_path / "x.json").read_text())["dtype"] == "<u2"
    loaded = load_corpus(tmp_path / "x.bin", "hash")
    assert (loaded.ids.tolist(), loaded.vocab_size, loaded.boundary) == ([0, 300, 2], 301, 300)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.9,0.2", r"the fractions add up to 1\.1: expected at most 1"),
        ("0.9,10", "all counts .* or all fractions"),
        ("1,2,3,4", "one to three sizes"),
        ("rest,rest", "at most one of them 'rest'"),
        ("half,half", "'half' is no size"),
        ("", "'' is no size"),
        ("-1,2", "sizes of 0 or more|all counts"),
        ("nan,0.5", "sizes of 0 or more"),
        ("0,5", "training part, the first, above 0"),
    ],
)
def test_wrong_splits_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_split(text)


def test_splits() -> None:
    assert parse_split("800000, 200000,rest").bounds(1_176_859, "tokens") == {
        "train": (0, 800_000),
        "valid": (800_000, 1_000_000),
        "test": (1_000_000, 1_176_859),
    }
    assert parse_split("rest,0,10").bounds(100, "lines") == {"train": (0, 90), "test": (90, 100)}
    assert parse_split("0.9,0.05,rest").bounds(1000, "tokens") == parse_split("0.9,0.05,0.05").bounds(1000, "tokens")
    assert parse_split("0.5,0.1").bounds(10, "tokens") == {"train": (0, 5), "valid": (5, 6)}
    assert str(Split((0.9, None))) == "0.9,rest"


@given(total=st.integers(200, 10**9), first=st.integers(1, 98))
def test_fractions_lose_no_token(total: int, first: int) -> None:
    sizes = (first / 100, 0.01, (99 - first) / 100)
    bounds = list(Split(sizes).bounds(total, "tokens").values())
    assert bounds[0][0] == 0
    assert [stop for _, stop in bounds[:-1]] == [start for start, _ in bounds[1:]]
    assert bounds[-1][1] == total
    assert all(abs((stop - start) - size * total) <= 1 for (start, stop), size in zip(bounds, sizes, strict=True))


@pytest.mark.parametrize(
    ("text", "how", "message"),
    [
        ("", {}, "the text holds no token: expected at least one"),
        ("\n\n", {"boundary": "line"}, "no token"),
        ("  \n", {"tokenizer": "words"}, "no token"),
        ("a\nb\nc\nd\ne\n", {"boundary": "line", "split": "0.9,0.05,0.05"}, "of 5 lines leaves the test part empty"),
        ("a\nb\n", {"boundary": "line", "split": "3,1"}, "split 3,1 of 2 lines: expected at least 4"),
        ("abcd", {"boundary": "document", "split": "1,1"}, "split 1,1 of 1 documents: expected at least 2"),
        ("abcd", {"boundary": "stream", "split": "4,rest"}, "of 4 tokens leaves the valid part empty"),
        (
            "abcd",
            {"boundary": "stream", "context": 4},
            "the train part has 4 tokens, .* after the first 4: expected more",
        ),
        ("abcdef", {"boundary": "stream", "context": 2, "split": "4,2"}, "the valid part has 2 tokens"),
        (
            "abab abab",
            {"tokenizer": PAIRS, "boundary": "stream", "split": "0.4,0.3,0.3"},
            "2 tokens leave the test part",
        ),
    ],
)
def test_too_little_text_is_refused_with_numbers(text: str, how: dict[str, Any], message: str) -> None:
    with pytest.raises(TextError, match=message):
        build(text, **how)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="boundary 'page': expected one of stream, line, document"):
        build("a", boundary="page")
    with pytest.raises(InputError, match="vocabulary from 'test': expected train or all"):
        build("a", vocab_from="test")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown tokenizer 'morse': expected one of bytes, chars, words, bpe"):
        build("a", tokenizer="morse")
    with pytest.raises(InputError, match="option 'lowercase' of the chars tokenizer: expected one of min_count"):
        build("a", options={"lowercase": True})
    with pytest.raises(InputError, match="option 'min_count' of the bytes tokenizer: expected none"):
        build("a", tokenizer="bytes", options={"min_count": 2})
    with pytest.raises(InputError, match=r"part 'test': this text has train, valid"):
        build("abcd", split="0.5,0.5").part("test")
    with pytest.raises(InputError, match=r"part 'all': this text has train"):
        build("abcd").part("all")


def test_what_a_finished_tokenizer_cannot_read_is_named() -> None:
    made = Chars.train(["abc\n"])
    with pytest.raises(TextError, match=r"'é' at character 5 of d\.txt"):
        build_corpora([Document("d.txt", ["abc\r", "\na", "é"])], tokenizer=made, boundary="stream")
    names = Chars.train(["abc"])
    with pytest.raises(TextError, match=r"'é' at character 5 of d\.txt"):
        build_corpora([Document("d.txt", ["abc\na", "é"])], tokenizer=names, boundary="line")


def test_reserved_strings_in_a_text_close_no_unit() -> None:
    text = "<s> a b </s>\nb <unk> a\n"
    corpora = build(text, tokenizer="words", boundary="line")
    assert units(corpora) == ["<unk> a b <unk>", "b <unk> a"]
    assert text_stats(corpora.tokenizer, "line", corpora.train) == (9, 2, 3, None, "white space is collapsed")


@pytest.mark.parametrize("name", ["bytes", "chars", "bpe"])
def test_bytes_of_the_scored_text(name: str) -> None:
    text = "né\nüber\n" * 9
    made = build(text, tokenizer=name, boundary="stream")
    assert text_stats(made.tokenizer, "stream", made.train).bytes == len(text.encode())
    first = 5
    scored = text.encode()[first:] if name == "bytes" else made.tokenizer.decode(made.train.ids[first:]).encode()
    assert text_stats(made.tokenizer, "stream", made.train, first).bytes == len(scored)
    lines = build(text, tokenizer=name, boundary="line")
    stats = text_stats(lines.tokenizer, "line", lines.train)
    assert (stats.tokens, stats.units, stats.unknown, stats.bytes, stats.lost) == (
        len(lines.train),
        18,
        0,
        len(text.encode()),
        None,
    )
    document = build(text, tokenizer=name, boundary="document")
    assert text_stats(document.tokenizer, "document", document.train).bytes == len(text.encode())


def test_lost_bytes_are_admitted() -> None:
    cut = build("aab", options={"min_count": 2}, boundary="stream")
    assert text_stats(cut.tokenizer, "stream", cut.train) == (3, 0, 1, None, "1 unknown symbols")
    kept = build("aa", options={"unknown": True}, boundary="stream")
    assert text_stats(kept.tokenizer, "stream", kept.train) == (2, 0, 0, 2, None)


def test_the_hash_is_of_the_text_not_of_its_packing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\r\nb")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a\nb"))
    hashes = {build_corpora([tmp_path / name]).info["texts"]["train"]["sha256"] for name in ("a.txt", "a.txt.gz")}
    assert hashes == {hashlib.sha256(b"a\nb\xff").hexdigest()}
    assert build("a\nb\n").info["texts"]["train"]["sha256"] not in hashes
    assert build("a\nb").info["texts"]["train"] == {
        "sha256": hashes.pop(),
        "documents": 1,
        "bytes": 3,
        "lines": 1,
        "sentences": 0.0,
    }


def test_the_papers_protocol_on_brown(data: Callable[[str], Path], tmp_path: Path) -> None:
    corpora = build_corpora(
        [data("brown.zip")],
        tokenizer="words",
        options={"min_count": 4},
        boundary="stream",
        split="800000,200000,rest",
        vocab_from="all",
        folder=tmp_path,
        context=4,
    )
    assert [len(corpora.part(part)) for part in PARTS] == [800_000, 200_000, 176_859]
    assert (corpora.vocab_size, corpora.train.ids.dtype) == (17_906, np.uint16)
    seen = np.unique(corpora.train.ids)
    assert corpora.vocab_size - len(seen) == 794  # types that the training part never has
    unseen = np.setdiff1d(np.arange(17_906), seen)
    assert [int(np.isin(corpora.part(part).ids, unseen).sum()) for part in PARTS[1:]] == [3_214, 2_641]


def test_names_as_lines(data: Callable[[str], Path]) -> None:
    corpora = build_corpora([data("names.txt")], tokenizer="chars", boundary="line", split="rest,0,1000")
    assert (corpora.vocab_size, corpora.valid) == (27, None)
    names = data("names.txt").read_text(encoding="utf-8").splitlines()
    assert [len(units(corpora, part)) for part in ("train", "test")] == [len(names) - 1000, 1000]
    assert Counter(units(corpora, "train") + units(corpora, "test")) == Counter(names)
    assert corpora.train.ids.dtype == np.uint8


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_is_an_error_not_a_short_file() -> None:
    writer = IdWriter(Path("/dev/full"), np.dtype(np.uint8))
    writer.append(np.zeros(10, np.int64))
    with pytest.raises(OSError, match="No space left"):
        writer.close()


@pytest.mark.parametrize(
    ("line", "boundary", "hint"),
    [
        ("emma", "document", "150 lines of 5 bytes on average; if each is a unit of its own, --boundary line"),
        (
            "The cat, which had slept on the mat, went out.",
            "document",
            "150 lines of 47 bytes on average, 100% of them ending as sentences do; if each is a unit of its own, "
            "--boundary line",
        ),
        ('"Where is the cat, which had slept on the mat?"', "document", "100% of them ending as sentences do"),
        ("The cat, which had slept on the mat, went out and", "document", None),  # wrapped prose
        ("A paragraph is longer than a sentence. " * 10, "document", None),
        ("emma", "line", None),
        ("emma", "stream", None),
    ],
)
def test_short_lines_read_as_one_document_are_pointed_out(line: str, boundary: str, hint: str | None) -> None:
    found = build((line + "\n") * 150, boundary=boundary).hint
    assert found is None if hint is None else hint in str(found)
    assert build((line + "\n") * 99, boundary=boundary).hint is None
