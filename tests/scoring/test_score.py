"""`score` and `filter`: the numbers are the model's own, every other byte stays, and nothing is lost."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

import neuralgram as ng
from tests.scoring.conftest import run

TEXTS = ["the cat sat", "", "zebra zebra the", "the dog and the cat", "  spaced   out "]


def alone(model: ng.TextModel, text: str) -> tuple[int, float]:
    """Tokens and nats of one text by the token-by-token path."""
    found = model.score(text or "\n")
    return len(found), math.fsum(token.nats for token in found)


def test_lines_come_out_with_their_scores_before_them(words: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes("\r\n".join(TEXTS).encode())
    assert run("score", words, source, "--out", out, "--jobs", 1) == 0
    model = ng.load(words)
    rows = out.read_bytes().split(b"\n")
    assert len(rows) == len(TEXTS) + 1
    for text, row in zip(TEXTS, rows, strict=False):
        tokens, unknown, nats, perplexity, bits, line = row.split(b"\t")
        expected = alone(model, text)
        assert int(tokens) == expected[0] == len(text.split()) + 1
        assert int(unknown) == sum(word in ("zebra", "spaced", "out") for word in text.split())
        assert float(nats) == pytest.approx(expected[1], abs=2e-6)
        assert float(perplexity) == pytest.approx(math.exp(expected[1] / expected[0]), rel=1e-6)
        assert bits == b"null"  # white space is lost
        assert line.removesuffix(b"\r") == text.encode()


def test_every_byte_of_a_json_line_stays(words: Path, tmp_path: Path) -> None:
    lines = [
        '{"id" :  1, "doc": {"text": "the cat sat"}, "x": 1.50, "u": "\\u00e9\\/"}',
        '{"doc":{"text":"a bird"},"e":[]}  ',
        '{"doc": {"text": 5}}',
        "no json",
        '{"doc": {"text": "the dog"}}',
    ]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl.gz"
    source.write_text("\n".join(lines))
    assert run("score", words, source, "--field", "doc.text", "--out", out, "--jobs", 1, "--per-token") == 0
    found = gzip.decompress(out.read_bytes()).decode().splitlines()
    assert [line[: line.index(', "tokens": ')] for line in found] == [
        lines[0][:-1],
        lines[1].rstrip()[:-1],
        lines[4][:-1],
    ]
    for line in found:
        record = json.loads(line)
        assert math.fsum(record["token_nats"]) == pytest.approx(record["nats"], abs=1e-5)
        assert record["tokens"] == len(record["token_nats"])
    assert (tmp_path / "out.jsonl.gz.broken").read_text() == "\n".join(lines[2:4]) + "\n"


def test_strict_stops_and_names_the_unit(words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "the"}\n{}\n')
    assert run("score", words, source, "--out", tmp_path / "out.jsonl", "--strict", "--jobs", 1) == 2
    assert capsys.readouterr().err.strip().endswith("in.jsonl, unit 2: no field 'text'")


def test_a_field_that_is_there_already_is_not_doubled(
    words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "the", "nats": 1}\n')
    assert run("score", words, source, "--out", tmp_path / "a.jsonl", "--jobs", 1) == 2
    assert "a field 'nats' already: choose other names with --prefix" in capsys.readouterr().err
    assert run("score", words, source, "--out", tmp_path / "b.jsonl", "--jobs", 1, "--prefix", "kn_") == 0
    assert set(json.loads((tmp_path / "b.jsonl").read_text())) >= {"nats", "kn_nats", "kn_perplexity"}


def test_processes_change_nothing(network: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("\n".join(f"the cat sat on log {'a' * (i % 7)}" for i in range(1500)))
    for jobs in (1, 2):
        assert run("score", network, source, "--out", tmp_path / f"{jobs}.txt", "--jobs", jobs) == 0
    assert (tmp_path / "1.txt").read_bytes() == (tmp_path / "2.txt").read_bytes()
    first = (tmp_path / "1.txt").read_text().splitlines()[0].split("\t")
    expected = alone(ng.load(network), "the cat sat on log ")
    assert float(first[2]) == pytest.approx(expected[1], abs=1e-4)
    assert float(first[4]) == pytest.approx(expected[1] / math.log(2) / len(b"the cat sat on log \n"), abs=1e-5)


def values_of(path: Path, words: Path) -> dict[str, float]:
    model = ng.load(words)
    return {text: math.exp(alone(model, text)[1] / alone(model, text)[0]) for text in path.read_text().splitlines()}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    source = tmp_path / "many.txt"
    words = ["the", "cat", "dog", "sat", "on", "mat", "zebra", "and"]
    lines = dict.fromkeys(" ".join(np.random.default_rng(i).choice(words, 4)) for i in range(300))
    source.write_text("\n".join(lines) + "\n")
    return source


def test_a_bound_keeps_what_is_below_it(words: Path, many: Path, tmp_path: Path) -> None:
    values = values_of(many, words)
    bound = sorted(values.values())[100] + 1e-9
    out, rejects = tmp_path / "kept.txt", tmp_path / "rejects.txt"
    given = ["--max-perplexity", bound, "--rejects", rejects, "--jobs", 1]
    assert run("filter", words, many, "--out", out, *given) == 0
    assert out.read_text().splitlines() == [text for text, value in values.items() if value <= bound]
    reasons = [line.split("\t") for line in rejects.read_text().splitlines()]
    assert [text for _, text in reasons] == [text for text, value in values.items() if value > bound]
    assert all(reason.startswith("perplexity ") and " above " in reason for reason, _ in reasons)


def test_quantiles_are_exact_in_two_passes(
    words: Path, many: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = values_of(many, words)
    ranked = sorted(values.values())
    low, high = ranked[math.floor(0.2 * len(ranked))], ranked[math.ceil(0.7 * len(ranked)) - 1]
    out = tmp_path / "kept.txt"
    assert run("filter", words, many, "--out", out, "--keep", "0.2:0.7", "--jobs", 2, "--json") == 0
    kept = [text for text, value in values.items() if low - 1e-12 <= value <= high + 1e-12]
    assert out.read_text().splitlines() == kept
    told = capsys.readouterr()
    assert "exact, of all units, in two passes" in told.err
    record = json.loads(told.out)
    assert record["kept"] == len(kept)
    assert sum(row["units"] for row in record["histogram"]) == len(values)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.txt", "many.txt"]


def test_quantiles_of_a_sample_say_so(
    words: Path, many: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = len(many.read_text().splitlines())
    out = tmp_path / "kept.txt"
    given = ["--keep", ":0.5", "--sample", 10**6, "--jobs", 1]
    assert run("filter", words, many, "--out", out, *given) == 0
    assert f"of {count} units drawn evenly" in capsys.readouterr().err
    assert len(out.read_text().splitlines()) == pytest.approx(count / 2, abs=count / 20)


def test_buckets_by_learned_cutoffs(words: Path, many: Path, tmp_path: Path) -> None:
    cutoffs, out = tmp_path / "cut.json", tmp_path / "kept.jsonl"
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"text": line}) + "\n" for line in many.read_text().splitlines()))
    given = ["--cutoffs", cutoffs, "--language", "en", "--jobs", 1, "--bucket", "head,tail", "--add"]
    assert run("filter", words, source, "--out", out, *given, "--learn-cutoffs") == 0
    cut = json.loads(cutoffs.read_text())["en"]
    ranked = sorted(values_of(many, words).values())
    assert cut["head"] == pytest.approx(ranked[math.ceil(0.3 * len(ranked)) - 1])
    assert cut["middle"] == pytest.approx(ranked[math.ceil(0.6 * len(ranked)) - 1])
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert {record["bucket"] for record in found} == {"head", "tail"}
    assert all((record["perplexity"] <= cut["head"] + 1e-5) == (record["bucket"] == "head") for record in found)
    again = tmp_path / "again.jsonl"
    assert run("filter", words, source, "--out", again, *given) == 0
    assert again.read_bytes() == out.read_bytes()


def test_the_difference_to_a_reference(words: Path, network: Path, many: Path, tmp_path: Path) -> None:
    model, other = ng.load(words), ng.load(network)
    out = tmp_path / "kept.txt"
    texts = [line for line in many.read_text().splitlines() if "z" not in line]
    many.write_text("\n".join(texts) + "\n")
    values = [(alone(model, t)[1] - alone(other, t)[1]) / alone(model, t)[0] for t in texts]
    bound = sorted(values)[len(values) // 2] + 1e-6
    assert run("filter", words, many, "--out", out, "--reference", network, "--max-difference", bound, "--jobs", 1) == 0
    kept = [t for t, value in zip(texts, values, strict=True) if value <= bound]
    assert out.read_text().splitlines() == kept


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "nothing to keep by: expected one of"),
        (["--keep", ":0.5", "--max-perplexity", "3"], "bounds, --keep to keep by"),
        (["--max-difference", "3"], "--max-difference: a difference needs --reference"),
        (["--cutoffs", "c.json"], "--cutoffs: of which language?"),
        (["--min-perplexity", "9", "--max-perplexity", "3"], "the smaller number first"),
        (["--keep", ":0.5"], "kept beside --out"),
        (["--max-perplexity", "3", "--sample", "4"], "--sample 4: of --keep"),
    ],
)
def test_what_cannot_be_asked(
    words: Path, many: Path, given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("filter", words, many, "--jobs", 1, *given) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert message in told[-1]


def test_the_unknown_to_a_closed_vocabulary_is_a_broken_unit(network: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("the cat\nüber\nthe dog\n")
    assert run("score", network, source, "--out", out, "--jobs", 1) == 0
    assert [line.split("\t")[5] for line in out.read_text().splitlines()] == ["the cat", "the dog"]
    assert (tmp_path / "out.txt.broken").read_text() == "über\n"


def test_parquet_keeps_every_column(words: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    texts = ["the cat sat", None, "a bird sang", "the dog"] * 400
    table = pa.table({"id": list(range(1600)), "text": texts, "x": [{"a": [1.5]}] * 1600})
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    assert run("score", words, source, "--out", out, "--jobs", 2) == 0
    found = pq.read_table(out)
    assert found.select(["id", "text", "x"]).equals(table)
    expected = alone(ng.load(words), "the cat sat")
    assert found["nats"][0].as_py() == pytest.approx(expected[1], abs=1e-9)
    assert found["nats"][1].as_py() is None
    kept, rejects = tmp_path / "kept.parquet", tmp_path / "rejects.parquet"
    bound = math.exp(expected[1] / expected[0]) + 1e-9
    given = ["--max-perplexity", bound, "--rejects", rejects, "--jobs", 1]
    assert run("filter", words, source, "--out", kept, *given) == 0
    assert pq.read_table(kept).schema == table.schema
    both = pq.read_table(kept)["id"].to_pylist() + pq.read_table(rejects)["id"].to_pylist()
    assert sorted(both) == list(range(1600))
    assert "no" not in set(pq.read_table(kept)["text"].to_pylist())
    assert set(pq.read_table(rejects)["reason"].to_pylist()) >= {"not utf-8: invalid start byte"}
