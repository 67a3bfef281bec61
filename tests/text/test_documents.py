"""Where documents begin in a stream, through splits, against positions counted by hand."""

from neuralgram.text import staging
from neuralgram.text.corpora import build_corpora
from neuralgram.text.sources import text_document


def _stream(split=None):
    texts = [text_document("a b c", "one"), text_document("d", "two"), text_document("e f g h", "three")]
    return build_corpora(texts, tokenizer="words", boundary="stream", split=split)


def test_a_stream_remembers_where_its_documents_begin():
    found = _stream().documents["train"]
    assert found.names == ("one", "two", "three")
    assert found.starts.tolist() == [0, 3, 4]


def test_a_split_cuts_a_document_in_two_and_each_part_counts_from_its_own_start():
    parts = _stream("2,3,rest").documents
    assert (parts["train"].names, parts["train"].starts.tolist()) == (("one",), [0])
    assert (parts["valid"].names, parts["valid"].starts.tolist()) == (("one", "two", "three"), [0, 1, 2])
    assert (parts["test"].names, parts["test"].starts.tolist()) == (("three",), [0])


def test_more_documents_than_are_worth_remembering_are_forgotten(monkeypatch):
    monkeypatch.setattr(staging, "REMEMBERED", 2)
    assert _stream().documents == {}


def test_brown_has_500_files_and_its_test_part_is_the_end_of_them(data):
    parts = build_corpora(
        [data("brown.zip")],
        tokenizer="words",
        options={"min_count": 4},
        boundary="stream",
        split="800000,200000,rest",
        vocab_from="all",
    ).documents
    assert parts["test"].names[-1].endswith(":cr09")
    assert len(parts["train"].names) + len(parts["valid"].names) + len(parts["test"].names) == 502  # two are cut
