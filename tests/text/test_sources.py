"""Reading: encodings, line ends, compression, JSON lines, folders, standard input, the Brown corpus; the errors."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from neuralgram.errors import InputError, TextError
from neuralgram.text.pieces import PIECE, anywhere, last_cut
from neuralgram.text.sources import Document, Reading, Source, read_documents, text_document
from neuralgram.text.tokenizers import Words


def read(*sources: Source, **how: Any) -> list[tuple[str, str]]:
    """Names (without folders) and whole texts."""
    return [(Path(d.name).name, "".join(d.pieces)) for d in read_documents(sources, Reading(**how))]


def written(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\u2028b\x85c\x0bd\x0ce".encode(), "a\u2028b\x85c\x0bd\x0ce"),
        (b"\xef\xbb\xbfa\xef\xbb\xbf", "a\ufeff"),
        (b"", ""),
        (b"\x00\n\n\x00", "\x00\n\n\x00"),
        (b"\r", "\n"),
    ],
)
def test_text_is_read_as_it_is_but_for_line_ends_and_the_mark(tmp_path: Path, data: bytes, text: str) -> None:
    path = written(tmp_path / "t.txt", data)
    assert read(path) == [("t.txt", text)]
    assert read(Document("d", [data.decode()])) == [("d", text)]
    raw = "".join(next(read_documents([path], Reading(raw=True))).pieces)
    assert raw.encode("utf-8", "surrogateescape") == data


def test_line_ends_and_characters_cut_by_blocks(tmp_path: Path) -> None:
    data = b"x" * ((1 << 20) - 1) + b"\r\n" + b"y" * ((1 << 20) - 2) + "é".encode() + b"z"
    (_, text) = read(written(tmp_path / "t.txt", data))[0]
    assert text == data.decode().replace("\r\n", "\n")


def test_encodings(tmp_path: Path) -> None:
    latin = written(tmp_path / "latin.txt", "“né”".encode("cp1252"))
    assert read(latin, encoding="cp1252") == [("latin.txt", "“né”")]
    assert read(latin, errors="replace") == [("latin.txt", "\ufffdn\ufffd")]
    assert read(latin, errors="ignore") == [("latin.txt", "n")]
    assert read(written(tmp_path / "16.txt", "né\r\n".encode("utf-16")), encoding="utf-16") == [("16.txt", "né\n")]
    assert read(latin, raw=True)[0][1].encode("utf-8", "surrogateescape") == "“né”".encode("cp1252")
    with pytest.raises(InputError, match="encoding 'klingon': expected one Python knows"):
        Reading(encoding="klingon")
    with pytest.raises(InputError, match="errors 'maybe': expected strict, replace or ignore"):
        Reading(errors="maybe")


@pytest.mark.parametrize("before", [0, 5, (1 << 20) - 1, (1 << 20), (1 << 20) + 7])
def test_wrong_bytes_are_named_by_file_and_offset(tmp_path: Path, before: int) -> None:
    path = written(tmp_path / "bad.txt", b"x" * before + b"\xe2\x82" + b"yz")
    with pytest.raises(TextError, match=rf"bad\.txt: byte {before} is not utf-8 .*expected utf-8 text .*--encoding"):
        read(path)
    half = written(tmp_path / "half.txt", b"x" * before + b"\xe2\x82")
    with pytest.raises(TextError, match=rf"half\.txt: byte {before} is not utf-8"):
        read(half)


def test_compressed_files(tmp_path: Path) -> None:
    text = "né\r\nb" * 1000
    twice = zstandard.compress(text.encode()) + zstandard.compress(b"end")
    written(tmp_path / "a.txt.gz", gzip.compress(text.encode()))
    written(tmp_path / "b.txt.zst", twice)
    unified = text.replace("\r\n", "\n")
    assert read(tmp_path) == [("a.txt.gz", unified), ("b.txt.zst", unified + "end")]


@pytest.mark.parametrize(
    ("name", "compress"), [("a.gz", gzip.compress), ("a.zst", zstandard.compress)], ids=["gz", "zst"]
)
def test_damaged_compressed_files(tmp_path: Path, name: str, compress: Callable[[bytes], bytes]) -> None:
    data = compress(b"x" * 99)
    for damaged in (data[:-5], b"not compressed at all", data + b"junk"):
        with pytest.raises(TextError, match=rf"{name}: .*expected a complete"):
            read(written(tmp_path / name, damaged))


def test_folders_are_read_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "a.txt", ".git/config", "a/.hidden"):
        written(tmp_path / name, name)
    assert [text for _, text in read(tmp_path)] == ["a/b/c.txt", "a/z.txt", "a.txt", "b.txt"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TextError, match="empty: a folder without files: expected a file"):
        read(tmp_path / "empty")


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"no such file: .*none\.txt; expected a file, a folder, or -"):
        read(tmp_path / "none.txt")
    with pytest.raises(TextError, match=r"no such file: .*none\.zip"):
        read(tmp_path / "none.zip")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfa\r\nb")))
    assert read("-") == [("standard input", "a\nb")]


def test_json_lines(tmp_path: Path) -> None:
    rows = [{"text": "a\r\nb", "n": 1}, {"text": "\ufeffü\U0001f600"}, {"text": ""}]
    lines = "\n".join(map(json.dumps, rows)) + "\n\n"
    for path in (
        written(tmp_path / "d.jsonl", lines),
        written(tmp_path / "d.jsonl.gz", gzip.compress(lines.replace("\n", "\r\n").encode())),
    ):
        assert [text for _, text in read(path)] == ["a\nb", "ü\U0001f600", ""]
    other = written(tmp_path / "d.log", '{"body": "x"}')
    assert read(other, field="body") == [("d.log, line 1", "x")]
    assert read(other) == [("d.log", '{"body": "x"}')]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON .*expected one object a line"),
        ("[1]", "line 2: list: expected an object with a string in the field 'text'"),
        ('{"body": "x"}', r"line 2: fields 'body': expected an object .*choose --field"),
        ('{"text": 3}', "line 2: fields 'text': expected"),
        (r'{"text": "a\ud800"}', r"line 2: lone surrogate \\ud800 at character 1: expected Unicode"),
        ("[" * 100_000, "line 2: not JSON"),
    ],
)
def test_wrong_json_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path / "d.jsonl", '{"text": "fine"}\n' + line)
    with pytest.raises(TextError, match=message):
        read(path)


def test_a_lone_surrogate_can_be_replaced_or_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "d.jsonl", r'{"text": "a\ud800b"}')
    assert read(path, errors="replace")[0][1] == "a\ufffdb"
    assert read(path, errors="ignore")[0][1] == "ab"


@pytest.mark.parametrize("letters", ["a", "ab cd ", "\n"])
def test_memory_is_bounded_by_a_piece_not_by_a_line(tmp_path: Path, letters: str) -> None:
    size = 24 * PIECE
    path = written(tmp_path / "long.txt", letters * (size // len(letters)))
    tracemalloc.start()
    longest = sum(
        len(piece)
        for piece in next(read_documents([path], Reading(cut=last_cut if " " in letters else anywhere))).pieces
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert longest == size
    assert peak < 8 * PIECE


def brown_zip(path: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_brown_loses_its_tags_and_gains_marks(tmp_path: Path) -> None:
    members = {
        "brown/cb01": "\n\n\tB/x ./.\n",
        "brown/ca01": "\n\tThe/at 1/2/cd and\\/or/cc\n\tnext/ap\n\n\n\tpara/nn ''/''\n",
        "brown/cats.txt": "ca01 news\n",
        "brown/README": "no/text",
    }
    assert read(brown_zip(tmp_path / "b.zip", members)) == [
        ("b.zip:ca01", "<p> The 1/2 and\\/or\nnext\n<p> para ''\n"),
        ("b.zip:cb01", "<p> B .\n"),
    ]


def test_other_zip_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"o\.zip: a zip file without members ca01 … cr09: expected the Brown corpus"):
        read(brown_zip(tmp_path / "o.zip", {"a.txt": "x"}))
    with pytest.raises(TextError, match=r"n\.zip: .*expected the Brown corpus"):
        read(written(tmp_path / "n.zip", b"nothing"))


def test_the_brown_corpus_has_its_published_counts(data: Callable[[str], Path]) -> None:
    documents = read(data("brown.zip"))
    words = [word for _, text in documents for word in text.split()]
    assert (len(documents), len(words), len(set(words))) == (500, 1_176_859, 56_058)
    assert (words.count("<p>"), sum(text.count("\n") for _, text in documents)) == (15_667, 57_340)
    assert (documents[0][0], documents[-1][0]) == ("brown.zip:ca01", "brown.zip:cr09")
    assert " ".join(words[:9]) == "<p> The Fulton County Grand Jury said Friday an"
    made = Words.train([text for _, text in documents], min_count=4)
    assert made.vocab_size == 17_906
    unknown = (made.encode("\n".join(text for _, text in documents)) == made.unknown).mean()
    assert unknown == pytest.approx(0.047, abs=5e-4)


def test_a_string_is_a_document() -> None:
    assert read(text_document("a\r\nb")) == [("the text", "a\nb")]
