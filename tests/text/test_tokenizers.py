"""Every tokenizer against the `tokenizers` library reading its tokenizer.json, and against figures of real text."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralgram.errors import InputError, TextError
from neuralgram.families import TOKENIZERS, options
from neuralgram.text.pieces import anywhere, cut_pieces, last_cut, unify_line_ends
from neuralgram.text.tokenizers import (
    Bpe,
    Bytes,
    Chars,
    Tokenizer,
    Words,
    load_tokenizer,
    options_of,
    tokenizer_class,
)

SENTENCES = (
    "The cat sat on the mat; the cat didn't sit.\n  Über–Maß: 3.5 €, “naïve”… ΟΔΟΣ İstanbul\tx\n\nend \u2028 of it\n"
    "नमस्ते दुनिया 你好，世界。 \x00 e\u0301 🙂👍🏽 the   cat  \r\n"
)
FAMILY: dict[str, Callable[[], Tokenizer]] = {
    "bytes": Bytes,
    "chars": lambda: Chars.train([SENTENCES]),
    "chars cut": lambda: Chars.train([SENTENCES], min_count=2),
    "words": lambda: Words.train([SENTENCES]),
    "words cut": lambda: Words.train([SENTENCES], max_vocab=5),
    "words lower": lambda: Words.train([SENTENCES], lowercase=True, unknown=True),
    "words split": lambda: Words.train([SENTENCES], split_punctuation=True, unknown=True),
    "words both": lambda: Words.train([SENTENCES], lowercase=True, split_punctuation=True, unknown=True),
    "bpe": lambda: Bpe.train([SENTENCES * 3], vocab_size=320),
}
MADE = {name: make() for name, make in FAMILY.items()}
TOTAL = [name for name, made in MADE.items() if made.unknown is not None or name in ("bytes", "bpe")]
LETTERS = st.text(alphabet="aeT \n\t\r\x1c\x85\u2028'’.,-_$3½éİΣσςe\u0301न्🙂<unk>\x00", max_size=60)
ANY_TEXT = st.one_of(st.text(max_size=40), LETTERS)


@pytest.fixture(params=list(FAMILY))
def made(request: pytest.FixtureRequest) -> Tokenizer:
    return MADE[request.param]


def library(made: Tokenizer) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(made.to_json())


def test_the_library_gives_the_same_ids_offsets_and_text(made: Tokenizer) -> None:
    theirs = library(made).encode(SENTENCES)
    ids, offsets = made.encode_with_offsets(SENTENCES)
    assert ids.tolist() == theirs.ids == made.encode(SENTENCES).tolist()
    assert [tuple(pair) for pair in offsets.tolist()] == theirs.offsets
    assert made.decode(ids) == library(made).decode(theirs.ids)
    assert library(made).get_vocab_size() == made.vocab_size == len(made.symbols())


@pytest.mark.parametrize("name", TOTAL)
@settings(max_examples=60, deadline=None)
@given(text=ANY_TEXT)
def test_the_library_gives_the_same_ids_for_any_text(name: str, text: str) -> None:
    made = MADE[name]
    theirs = made.library.encode(text)
    ids, offsets = made.encode_with_offsets(text)
    assert ids.tolist() == theirs.ids == made.encode(text).tolist()
    if (
        not made.splitter.lowercase if isinstance(made, Words) else True
    ):  # the library's offsets of İ in lower case are off
        assert [tuple(pair) for pair in offsets.tolist()] == theirs.offsets
    if made.loses is None and made.unknown is None:
        assert made.decode(ids) == text


def test_loading_gives_the_same_tokenizer(made: Tokenizer, tmp_path: Path) -> None:
    made.save(tmp_path / "tokenizer.json")
    for again in (load_tokenizer(tmp_path / "tokenizer.json"), load_tokenizer(made.to_json())):
        assert type(again) is type(made)
        assert (again.to_json(), again.unknown, again.loses) == (made.to_json(), made.unknown, made.loses)
        assert again.encode(SENTENCES).tolist() == made.encode(SENTENCES).tolist()
        assert again.hash == hashlib.sha256((tmp_path / "tokenizer.json").read_bytes()).hexdigest()


def test_symbols_and_ids_name_each_other(made: Tokenizer) -> None:
    assert [made.id_of(made.symbol(i)) for i in range(made.vocab_size)] == list(range(made.vocab_size))
    assert made.id_of("no such symbol") is None
    for wrong in (-1, made.vocab_size):
        with pytest.raises(InputError, match="outside the vocabulary"):
            made.symbol(wrong)
        with pytest.raises(InputError, match="outside the vocabulary"):
            made.decode([wrong])
        with pytest.raises(InputError, match="outside the vocabulary"):
            list(made.decode_stream([wrong]))


def test_streaming_gives_the_decoded_text(made: Tokenizer) -> None:
    ids = made.encode(SENTENCES).tolist()
    pieces = list(made.decode_stream(ids))
    assert "".join(pieces) == made.decode(ids)
    assert len(pieces) == len(ids) + 1


def test_streaming_shows_no_half_character() -> None:
    assert list(Bytes().decode_stream("né🙂".encode())) == ["n", "", "é", "", "", "", "🙂", ""]
    assert list(Bytes().decode_stream([0xC3])) == ["", "�"]
    words = Words.train(["a b"])
    assert list(words.decode_stream([1, 0], after="a")) == [" b", " a", ""]
    assert "".join(words.decode_stream([1, 0], after="a ")) == "b a"


def test_lines_are_encoded_one_by_one(made: Tokenizer) -> None:
    text = "The cat\n\n  sat \nend"
    made = made if made.unknown is not None else type(made).train([SENTENCES + text])
    end = made.vocab_size
    expected = [i for line in text.split("\n") for i in [*made.encode(line).tolist(), end]][:-1]
    assert made.look_up_lines(text).tolist() == expected
    assert made.look_up_lines("").tolist() == []
    assert made.look_up_lines("\n\n").tolist() == [end, end]


def test_ids_are_in_order_of_frequency_then_of_code_points() -> None:
    assert Words.train(["b a c a b z a"]).symbols() == ["a", "b", "c", "z"]
    assert Chars.train(["banana\n", "bé"]).symbols() == ["a", "b", "n", "\n", "é"]
    # The unknown symbol stands where what it replaces puts it: c and d and e together are 3.
    assert Words.train(["a a a a b b c d e"], min_count=2).symbols() == ["a", "<unk>", "b"]
    assert Words.train(["a a a b b c"], max_vocab=2).symbols() == ["<unk>", "a"]
    bpe = Bpe.train(["the cat the cat the dog"], vocab_size=262)
    ids = np.bincount(bpe.encode("the cat the cat the dog"), minlength=bpe.vocab_size)
    assert (np.diff(ids) <= 0).all()
    assert " cat" in bpe.symbols()


def test_ids_do_not_depend_on_hashing() -> None:
    program = (
        "from neuralgram.text.tokenizers import *\n"
        "t = 'one two three two three three été ' * 7 + 'a b c d e f g h'\n"
        "print(Chars.train([t]).hash, Words.train([t], min_count=2).hash, Bpe.train([t], vocab_size=270).hash)"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_unknown_exists_only_where_it_can_be_met() -> None:
    assert Words.train(["a b a"]).unknown is None
    assert Words.train(["a b a"], held_out=["b b"]).unknown is None
    assert Words.train(["a b a"], held_out=["b c"]).unknown == 2
    assert Words.train(["a b a"], min_count=2).unknown is not None
    assert Words.train(["a b a"], max_vocab=2).unknown is None
    assert Words.train(["a b a c"], max_vocab=2).vocab_size == 2
    assert Words.train(["a b a"], unknown=True).symbols() == ["a", "b", "<unk>"]
    assert Chars.train(["ab"], held_out=["abé"]).unknown == 2
    assert Chars.train(["ab"], held_out=["ba"], unknown=True).unknown == 2
    for cut in ({"min_count": 2}, {"max_vocab": 2}):
        with pytest.raises(InputError, match="no unknown symbol"):
            Words.train(["a b c a"], unknown=False, **cut)


def test_reserved_strings_are_read_as_the_unknown_symbol_or_refused() -> None:
    text = "the <unk> sat </s> <s> the"
    words = Words.train([text])
    assert words.symbols() == ["<unk>", "the", "sat"]
    assert words.encode(text).tolist() == [1, 0, 2, 0, 0, 1] == library(words).encode(text).ids
    assert words.decode(words.encode(text)) == "the <unk> sat <unk> <unk> the"
    with pytest.raises(TextError, match=r"'</s>' at character 4 .* not among the 2 symbols"):
        Words.train(["the cat"]).encode("the </s> cat")
    with pytest.raises(InputError, match="<s>, </s>, <unk>"):
        Words.train([text], unknown=False)
    # To the others they are letters like all letters.
    for made in (Bytes(), Chars.train([text]), Bpe.train([text])):
        assert made.unknown is None
        assert made.decode(made.encode(text)) == text


def test_unseen_symbols_are_named_with_their_place_and_the_way_out() -> None:
    with pytest.raises(TextError, match=r"'é' at character 3 of the text .* expected .* bytes tokenizer"):
        Chars.train(["abc"]).encode("abcé")
    with pytest.raises(TextError, match=r"'dog' at character 5 of the text"):
        Words.train(["a b"]).encode("a b  dog cow")
    with pytest.raises(TextError, match=r"'dog' at character 105 of f\.txt"):
        Words.train(["a b"]).refuse("a b  dog cow", "f.txt", 100)
    assert Chars.train(["aab"], min_count=2).encode("a\U0010ffffb").tolist() == [0, 1, 1]


def test_punctuation_is_split_off_but_not_out_of_words() -> None:
    text = "\"Don't,\" said well-known Mr. O'Neil -- 3.5%... (€5) “Ça va?”"
    expected = "\" Don't , \" said well-known Mr . O'Neil - - 3.5 % . . . ( € 5 ) “ Ça va ? ”"
    words = Words.train([text], split_punctuation=True)
    assert " ".join(words.symbol(i) for i in words.encode(text)) == expected


def test_white_space_is_that_of_unicode() -> None:
    every = "".join(f"a{chr(code)}b" for code in [*range(0x3100), 0xFEFF, 0xE0020])  # the last is U+3000
    theirs = [word for word, _ in tokenizers.pre_tokenizers.WhitespaceSplit().pre_tokenize_str(every)]
    words = Words.train([every])
    assert [words.symbol(i) for i in words.encode(every)] == theirs


def test_what_is_lost_is_said() -> None:
    assert [made.loses for made in (Bytes(), Chars.train(["a"]), Bpe.train(["a"]))] == [None, None, None]
    assert Words.train(["a"]).loses == "white space is collapsed"
    assert Words.train(["a"], lowercase=True).loses == "white space is collapsed, letters are lower-cased"
    assert [MADE["words"].lossless, MADE["bpe"].lossless] == [False, True]


def test_raw_bytes_keep_their_values() -> None:
    raw = bytes(range(256)) + "é".encode()
    text = raw.decode("utf-8", "surrogateescape")
    ids, offsets = Bytes().encode_with_offsets(text)
    assert bytes(ids.tolist()) == raw
    assert offsets[-2:].tolist() == [[256, 257], [256, 257]]
    assert Bytes().symbol(0xE2) == "<0xE2>"


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_lone_surrogate_is_refused(name: str) -> None:
    with pytest.raises(TextError, match=r"expected Unicode characters"):
        tokenizer_class(name).train(["a \ud800"]).encode("a \ud800")


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="minimum count 0"):
        Words.train(["a"], min_count=0)
    with pytest.raises(InputError, match="largest vocabulary 1"):
        Chars.train(["a"], max_vocab=1)
    with pytest.raises(InputError, match="at least 256"):
        Bpe.train(["a"], vocab_size=255)
    with pytest.raises(TextError, match="no symbol occurs 3 times"):
        Words.train(["a a b"], min_count=3)
    with pytest.raises(TextError, match="no symbol occurs 1 times"):
        Chars.train([])


def test_bpe_learns_on_a_sample() -> None:
    text = "abab " * 100 + "xyxy " * 100
    assert " abab" in Bpe.train([text], vocab_size=300, sample=400).symbols()
    assert " xyxy" not in Bpe.train([text], vocab_size=300, sample=400).symbols()
    assert " xyxy" in Bpe.train([text], vocab_size=300).symbols()


def test_what_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    deep = "{" + '"a":[' * 100_000
    for wrong in ("{}", '{"model": {"type": "BPE"}}', "{", '{"model": 3}', '{"model": null}', deep):
        with pytest.raises(TextError, match=r"tokenizer\.json"):
            load_tokenizer(wrong)
    with pytest.raises(TextError, match=r"missing\.json.* expected a tokenizer\.json"):
        load_tokenizer(tmp_path / "missing.json")


def test_a_token_that_is_typed_is_found_and_shown() -> None:
    for made in (MADE["words"], MADE["bpe"], MADE["chars"]):
        assert [made.atom(made.symbol(i)) for i in range(made.vocab_size)] == list(range(made.vocab_size))
    assert MADE["words"].atom(" cat ") == MADE["words"].id_of("cat")  # what is encoded as it alone
    assert MADE["words cut"].atom("zebra") is None
    assert MADE["chars"].spelled(MADE["chars"].encode("\n")[0]) == "⏎"


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_contract_of_a_class(name: str) -> None:
    kind = tokenizer_class(name)
    ways = [kind.ready() is not None, kind.numbering(kind.settings({})) is not None]
    assert ways in ([True, False], [False, True], [False, False])
    assert kind.name == name
    with pytest.raises(InputError, match=f"option 'nonsense' of the {name} tokenizer: expected"):
        kind.train(["a"], nonsense=1)
    for key, option in options_of(name).items():
        assert options(TOKENIZERS)[key][name] == option
        assert option.about.help.endswith(".")


@settings(max_examples=60, deadline=None)
@given(text=st.lists(ANY_TEXT, max_size=6), size=st.integers(1, 12), name=st.sampled_from(TOTAL))
def test_pieces_give_the_ids_of_the_whole_text(text: list[str], size: int, name: str) -> None:
    made = MADE[name]
    whole = "".join(text)
    pieces = list(cut_pieces(text, size))
    assert "".join(pieces) == whole
    assert all(pieces)
    ids = [i for piece in pieces for i in made.look_up(piece).tolist()]
    assert ids == made.library.encode(whole).ids
    lines = [i for piece in pieces for i in made.look_up_lines(piece).tolist()]
    assert lines == [i for line in whole.split("\n") for i in [*made.encode(line), made.vocab_size]][:-1]
    assert [len(piece) for piece in cut_pieces([whole], size, cut=anywhere)][:-1] == [size] * ((len(whole) - 1) // size)


def test_cuts_stand_before_the_last_white_space_of_a_run() -> None:
    assert last_cut("ab cd  ef") == 6
    assert last_cut("ab cd   ") == 2
    assert last_cut("ab\n\ncd") == 3
    assert last_cut("ab \tcd") == 0
    assert [last_cut(text) for text in ("", "abc", "   ", " abc")] == [0, 0, 0, 0]


def test_line_ends_are_three_and_no_others() -> None:
    text = "a\r\nb\rc\nd\u2028e\x85f\x0bg\x0ch\r"
    for size in (1, 2, 3, 100):
        cut = [text[i : i + size] for i in range(0, len(text), size)]
        assert "".join(unify_line_ends(cut)) == "a\nb\nc\nd\u2028e\x85f\x0bg\x0ch\n"


def test_shakespeare_has_65_characters(data: Callable[[str], Path]) -> None:
    text = data("tinyshakespeare.txt").read_text(encoding="utf-8")
    chars = Chars.train([text])
    ids = chars.encode(text)
    assert (chars.vocab_size, chars.unknown, len(ids)) == (65, None, 1_115_394)
    ranked = sorted(Counter(text).items(), key=lambda item: (-item[1], item[0]))
    assert chars.symbols() == [symbol for symbol, _ in ranked]
    assert np.bincount(ids).tolist() == [count for _, count in ranked]
    assert chars.library.encode(text[:20_000]).ids == ids[:20_000].tolist()
    assert chars.decode(ids) == text
    words = Words.train([text])
    assert [words.symbol(i) for i in words.encode(text)] == text.split()


def test_names_have_26_letters(data: Callable[[str], Path]) -> None:
    names = data("names.txt").read_text(encoding="utf-8").split("\n")
    assert Chars.train(names).vocab_size == 26
    assert list(islice(Chars.train(names).symbols(), 3)) == ["a", "e", "n"]
