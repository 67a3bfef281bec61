"""Tokenizers of other programs: ids, offsets and text as the `tokenizers` library has them, or a refusal by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from neuralgram.errors import InputError, TextError
from neuralgram.text.corpora import build_corpora
from neuralgram.text.pieces import cut_pieces
from neuralgram.text.sources import text_document
from neuralgram.text.strings import encode_units
from neuralgram.text.tokenizers import Bpe, Foreign, load_tokenizer
from neuralgram.text.tokenizers import Tokenizer as Ours

SENTENCE = "The cat sat on the mat; the cat didn't sit. Über naïve ΟΔΟΣ İstanbul x नमस्ते 你好 e\u0301 🙂👍🏽 the   cat"
LEARNED = f"{SENTENCE} [MASK] <s>"
LETTERS = "aeThcst  \n\t\r\x1c\u2028'’.,-_$3½éİΣσςe\u0301न्🙂\x00你"
ANY_TEXT = st.lists(st.one_of(st.text(LETTERS, max_size=12), st.sampled_from(["<mask>", "[MASK] y", "<s>", "[UNK]"])))
EVERY_BYTE = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet(), "vocab_size": 330, "show_progress": False}


def byte_level(*added: str | AddedToken, before: Any = None, normalizer: Any = None, **model: Any) -> Tokenizer:
    made = Tokenizer(models.BPE(**model))
    made.pre_tokenizer = before or pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    made.train_from_iterator([LEARNED] * 20, trainers.BpeTrainer(**EVERY_BYTE))
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    for token in added:
        made.add_special_tokens([token])
    return made


def learned(model: Any, trainer: Any, before: Any, normalizer: Any = None, decoder: Any = None) -> Tokenizer:
    made = Tokenizer(model)
    made.pre_tokenizer = before
    if normalizer is not None:
        made.normalizer = normalizer
    if decoder is not None:
        made.decoder = decoder
    made.train_from_iterator([LEARNED] * 20, trainer)
    return made


def word_level(unknown: str = "[UNK]", before: Any = None, normalizer: Any = None, *special: str) -> Tokenizer:
    trainer = trainers.WordLevelTrainer(special_tokens=[*special], show_progress=False)
    return learned(models.WordLevel(unk_token=unknown), trainer, before or pre_tokenizers.WhitespaceSplit(), normalizer)


def words_with_accents_off() -> Tokenizer:
    before = pre_tokenizers.Sequence([pre_tokenizers.Punctuation(), pre_tokenizers.WhitespaceSplit()])
    plain = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    return word_level("<unk>", before, plain, "<unk>", "<s>")


def llama3_like() -> Tokenizer:
    words = pre_tokenizers.Split(Regex(r"\p{L}+| ?[^\s\p{L}]+|\s+"), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return byte_level("<s>", before=pre_tokenizers.Sequence([words, level]), ignore_merges=True)


def bert_like() -> Tokenizer:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    model, before = models.WordPiece(unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer()
    return learned(model, trainer, before, normalizers.BertNormalizer(), decoders.WordPiece())


def unigram() -> Tokenizer:
    trainer = trainers.UnigramTrainer(
        vocab_size=90, unk_token="<unk>", special_tokens=["<unk>", "<s>"], show_progress=False
    )
    plain = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    return learned(models.Unigram(), trainer, pre_tokenizers.Metaspace(), plain, decoders.Metaspace())


def llama2_like() -> Tokenizer:
    special = ["<unk>", "<s>", *(f"<0x{b:02X}>" for b in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, show_progress=False)
    spaces = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    back = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer, made.decoder = spaces, decoders.Sequence(back)
    made.train_from_iterator([LEARNED] * 20, trainer)
    return made


def subwords_with_ends() -> Tokenizer:
    end: dict[str, Any] = {"end_of_word_suffix": "</w>"}
    trainer = trainers.BpeTrainer(vocab_size=100, special_tokens=["<unk>"], show_progress=False, **end)
    model, before = models.BPE(unk_token="<unk>", **end), pre_tokenizers.Whitespace()
    return learned(model, trainer, before, normalizers.Lowercase(), decoders.BPEDecoder())


THEIRS: dict[str, Callable[[], Tokenizer]] = {
    "byte level, with a special token": lambda: byte_level("<s>"),
    "byte level, a space before": lambda: byte_level(before=pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "byte level, tokens that strip": lambda: byte_level(
        AddedToken("<mask>", lstrip=True), AddedToken("[MASK]", rstrip=True, single_word=True)
    ),
    "byte level, normalised": lambda: byte_level("<s>", normalizer=normalizers.NFC()),
    "byte level, words not parted": lambda: byte_level(
        before=pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ),
    "llama 3": llama3_like,
    "llama 2": llama2_like,
    "bert": bert_like,
    "unigram": unigram,
    "subwords with ends": subwords_with_ends,
    "words with special tokens": lambda: word_level("[UNK]", pre_tokenizers.Whitespace(), None, "[UNK]", "[PAD]"),
    "words, accents off": words_with_accents_off,
}


@cache
def pair(name: str) -> tuple[Ours, Tokenizer]:
    theirs = THEIRS[name]()
    return load_tokenizer(theirs.to_str()), theirs


@pytest.mark.parametrize("name", THEIRS)
@settings(max_examples=60, deadline=None)
@given(parts=ANY_TEXT)
def test_ids_and_text_are_the_librarys(name: str, parts: list[str]) -> None:
    ours, theirs = pair(name)
    text = "".join(parts)
    found = theirs.encode(text)
    ids, offsets = ours.encode_with_offsets(text)
    assert ids.tolist() == found.ids == ours.encode(text).tolist()
    assert [tuple(place) for place in offsets.tolist()] == found.offsets
    assert ours.decode(ids) == theirs.decode(found.ids, skip_special_tokens=False) == "".join(ours.decode_stream(ids))
    lines = [i for line in text.split("\n") for i in [*theirs.encode(line).ids, ours.vocab_size]]
    assert ours.look_up_lines(text).tolist() == lines[:-1]
    if ours.lossless:
        assert ours.decode(ids) == text
        assert int(ours.lengths[ids].sum()) == len(text.encode())


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("boundary", ["stream", "line", "document"])
@settings(max_examples=25, deadline=None)
@given(parts=ANY_TEXT, size=st.integers(1, 12))
def test_pieces_give_the_ids_of_the_whole_text(name: str, boundary: str, parts: list[str], size: int) -> None:
    ours, _ = pair(name)
    read = ours.look_up_lines if boundary == "line" else ours.look_up
    pieces = list(cut_pieces(parts, size, cut=ours.cut(boundary)))
    assert "".join(pieces) == "".join(parts)
    assert [i for piece in pieces for i in read(piece).tolist()] == read("".join(parts)).tolist()


@pytest.mark.parametrize("name", THEIRS)
def test_corpora_of_a_foreign_tokenizer(name: str, tmp_path: Any) -> None:
    ours, theirs = pair(name)
    lines = ["The cat sat", "", "on the mat"]
    corpus = encode_units(ours, "line", ["\n".join(lines) + "\n"])
    assert corpus.ids.tolist() == [i for line in lines for i in [*theirs.encode(line).ids, ours.vocab_size]]
    made = build_corpora([text_document(LEARNED)], tokenizer=ours, boundary="stream", split="0.5,0.5", folder=tmp_path)
    assert [*made.train.ids.tolist(), *made.part("valid").ids.tolist()] == theirs.encode(LEARNED).ids
    again = load_tokenizer(tmp_path / "tokenizer.json")
    assert (again.hash, again.unknown, type(again)) == (ours.hash, ours.unknown, Foreign)


def test_what_is_lost_and_what_is_unknown_is_said() -> None:
    kept = {"byte level, with a special token", "byte level, words not parted", "llama 3"}
    assert {name for name in THEIRS if pair(name)[0].lossless} == kept
    assert pair("byte level, tokens that strip")[0].loses == (
        "'<mask>' takes white space with it; '[MASK]' takes white space with it"
    )
    assert pair("byte level, a space before")[0].loses == "a space is put before it (add_prefix_space)"
    assert "text is normalised (BertNormalizer)" in str(pair("bert")[0].loses)
    unknown = {"llama 2": "<unk>", "bert": "[UNK]", "unigram": "<unk>", "words with special tokens": "[UNK]"}
    for name, token in unknown.items():
        ours, theirs = pair(name)
        assert ours.unknown == theirs.token_to_id(token)
        assert ours.symbol(theirs.token_to_id(token)) == token


def test_continuations_are_spelled_as_the_decoder_would() -> None:
    ours, theirs = pair("bert")
    assert "".join(ours.decode_stream(theirs.encode("sat on").ids, after="the cat")) == " sat on"
    ours, theirs = pair("llama 2")
    assert list(ours.decode_stream(theirs.encode("ß").ids[-2:])) == ["", "ß", ""]


WHITE = pre_tokenizers.WhitespaceSplit()


@pytest.mark.parametrize(
    "theirs",
    [
        lambda: learned(models.BPE(), trainers.BpeTrainer(vocab_size=100, show_progress=False), WHITE),
        lambda: word_level("none"),
        lambda: learned(models.Unigram(), trainers.UnigramTrainer(vocab_size=90, show_progress=False), WHITE),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_not_shortened(theirs: Callable[[], Tokenizer]) -> None:
    ours = load_tokenizer(theirs().to_str())
    assert ours.unknown is None
    assert ours.encode("the cat").tolist() == theirs().encode("the cat").ids
    with pytest.raises(TextError, match=r"'ж' at character 8 of f\.txt is not among the \d+ symbols"):
        build_corpora([text_document("the cat\nж x", "f.txt")], tokenizer=ours, boundary="line")
    with pytest.raises(TextError, match=r"'ж' at character 4 of the text"):
        ours.encode("the ж")


def with_template(single: str) -> Tokenizer:
    made = byte_level("<s>", "</s>")
    ids = [(token, made.token_to_id(token)) for token in ("<s>", "</s>")]
    made.post_processor = processors.Sequence(
        [processors.ByteLevel(), processors.TemplateProcessing(single=single, special_tokens=ids)]
    )
    return made


def set_up(change: Callable[[Tokenizer], None]) -> Callable[[], Tokenizer]:
    def make() -> Tokenizer:
        made = byte_level("<s>")
        change(made)
        return made

    return make


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (set_up(lambda t: t.enable_truncation(5)), r"truncation \(max_length 5\) cuts texts short"),
        (set_up(lambda t: t.enable_padding(pad_token="<s>")), r"padding \(with '<s>'\) adds tokens"),
        (lambda: with_template("<s> $A </s>"), r"post_processor Sequence adds '<s>', '</s>' to every text"),
        (
            set_up(lambda t: setattr(t, "post_processor", processors.RobertaProcessing(("a", 1), ("b", 2)))),
            r"post_processor RobertaProcessing adds 'b', 'a'",
        ),
        (
            set_up(lambda t: setattr(t, "post_processor", processors.BertProcessing(("a", 1), ("b", 2)))),
            r"post_processor BertProcessing adds 'b', 'a'",
        ),
        (lambda: byte_level(dropout=0.5), r"dropout 0\.5 makes its tokens random"),
        (lambda: Tokenizer(models.WordLevel({"a": 0, "b": 2}, unk_token="a")), r"2 tokens whose ids leave gaps"),
        (lambda: Tokenizer(models.WordPiece(unk_token="a")), r"a vocabulary of no token"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_its_name(make: Callable[[], Tokenizer], message: str) -> None:
    with pytest.raises(TextError, match=rf"^tokenizer\.json: {message}.*expected") as refused:
        load_tokenizer(make().to_str())
    assert "\n" not in str(refused.value)


def test_a_post_processor_that_adds_nothing_is_no_hindrance() -> None:
    assert load_tokenizer(with_template("$A").to_str()).encode("the cat").tolist() == byte_level().encode("the cat").ids


def test_byte_pairs_of_our_own_form_are_ours_whoever_learned_them() -> None:
    spec = json.loads(byte_level().to_str())
    spec["post_processor"] = None
    for part in ("pre_tokenizer", "decoder"):
        spec[part] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    assert type(load_tokenizer(json.dumps(spec))) is Bpe
    spec["pre_tokenizer"]["use_regex"] = False  # a merge may span words: text must not be cut between them
    assert type(load_tokenizer(json.dumps(spec))) is Foreign


def test_it_is_not_learned_here_and_takes_no_options() -> None:
    with pytest.raises(InputError, match="not learned here: expected the path of its"):
        Foreign.train(["a"])
    with pytest.raises(InputError, match=r"unknown tokenizer 'foreign': expected one of bytes, chars, words, bpe"):
        build_corpora([text_document("a")], tokenizer="foreign")
    with pytest.raises(InputError, match="the foreign tokenizer: a page of its own cannot cut text so"):
        pair("bert")[0].for_page()
