"""A `tokenizer.json` of another program, read by the `tokenizers` library: any model, normalizer and pre-tokenizer.

Ids are those of `tokenizers.Tokenizer.from_file(path).encode(text)`. What would change or lose them is refused by its
name: truncation, padding, dropout, a post-processor that adds tokens (a boundary symbol closes units here).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError, TextError
from neuralgram.text.pieces import Cut, last_cut, utf8
from neuralgram.text.tokenizers.base import Tokenizer, library_tokenizer
from neuralgram.text.tokenizers.bytelevel import byte_letters, byte_offsets, shown
from neuralgram.text.windows import as_ids

_NO_SUCH_TOKEN = (
    "\ud7ffno such token"  # without an unknown symbol the library drops what a BPE cannot read; so it refuses
)
_CHUNK = re.compile(r"\S+|\s+")
_LOOK_BACK = 8  # tokens of a prompt that the decoder is shown before those that continue it
_WORDS = {"WhitespaceSplit", "Whitespace", "BertPreTokenizer"}  # pre-tokenizers that part text at white space
_BY_CHARACTER = {"Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "BertNormalizer"}  # blind to a space

Spec = Mapping[str, Any]


class Foreign(Tokenizer):
    """Any tokenizer of the library. Symbols are its tokens; the unknown symbol is the one its model names."""

    name: ClassVar[str] = "foreign"

    def __init__(self, text: str) -> None:
        spec: Spec = json.loads(text)
        _check(spec)
        self._text = text
        self._reader = library_tokenizer(json.dumps(_strict(spec)))
        vocab: dict[str, int] = self._reader.get_vocab(with_added_tokens=True)
        if not vocab:
            raise TextError("tokenizer.json: a vocabulary of no token: expected at least one")
        if sorted(vocab.values()) != list(range(len(vocab))):
            raise TextError(f"tokenizer.json: {len(vocab)} tokens whose ids leave gaps: expected 0 … {len(vocab) - 1}")
        tokens = sorted(vocab, key=vocab.__getitem__)
        self._exact = _is_byte_level(spec, vocab)
        pieces = [_bytes_of(token) for token in tokens] if self._exact else [utf8(token) for token in tokens]
        symbols = [shown(piece) for piece in pieces] if self._exact else tokens
        super().__init__(symbols, pieces, unknown=_unknown(spec, vocab), loses=None if self._exact else _loses(spec))
        self._cut = last_cut if _parts_at_spaces(spec) else None

    @classmethod
    def train(cls, pieces: Iterable[str], **options: Any) -> Self:
        """Nothing here learns one."""
        raise InputError("a foreign tokenizer is not learned here: expected the path of its tokenizer.json")

    @classmethod
    def from_spec(cls, spec: Spec, text: str) -> Self:
        """Of any file; a `TextError` names what cannot be honoured."""
        return cls(text)

    def to_json(self) -> str:
        """The `tokenizer.json` it was made from."""
        return self._text

    def cut(self, boundary: str) -> Cut:
        """Between words where white space parts them, else between lines, or nowhere: documents are read whole."""
        return self._cut or super().cut(boundary)

    def look_up(self, text: str) -> NDArray[np.int64]:
        """Ids int64 [N]; one −1 where the text has what cannot be read."""
        return self._encoded([text], [])

    def look_up_lines(self, text: str) -> NDArray[np.int64]:
        """Ids of each line with vocab_size for every line end."""
        return self._encoded(text.split("\n"), [self.vocab_size])

    def _encoded(self, texts: list[str], between: list[int]) -> NDArray[np.int64]:
        utf8("".join(texts))  # the library's refusal of a lone surrogate names no place
        try:
            found = self._reader.encode_batch_fast(texts, add_special_tokens=False)
        except Exception:  # the library raises bare Exceptions
            return np.array([-1])
        ids = chain.from_iterable(chain(encoding.ids, between) for encoding in found)
        return np.fromiter(ids, np.int64)[: -len(between) or None]

    def encode_with_offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids [N] and the characters [N, 2] each token was made from."""
        self.encode(text)
        return self.encode_unseen(text)

    def encode_unseen(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As `encode_with_offsets`, or −1 at the first stretch that cannot be read, and nothing else."""
        if self.look_up(text).min(initial=0) < 0:
            stretches = [found.span() for found in _CHUNK.finditer(text)]
            bad = [span for span in stretches if self.look_up(text[slice(*span)]).min(initial=0) < 0]
            return np.array([-1]), np.array([(*bad, (0, len(text)))[0]])
        encoding = self._reader.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, np.int64)
        if self._exact:
            return ids, byte_offsets(text, self.lengths[ids])
        return ids, np.array(encoding.offsets, np.int64).reshape(-1, 2)

    def decode(self, ids: ArrayLike) -> str:
        """The text of `ids` [N] by the library's decoder, special tokens among it."""
        return str(self._reader.decode(self._checked(ids), skip_special_tokens=False))

    def decode_stream(self, ids: Iterable[int], after: str = "") -> Iterator[str]:
        """The text of `ids` one token at a time, as the continuation of `after`."""
        told = self.encode(after).tolist()[-_LOOK_BACK:]
        start, known = 0, len(told)  # decoded together; of these the text was given out
        for token in ids:
            told += self._checked([token])
            before, now = self.decode(told[start:known]), self.decode(told[start:])
            if now.endswith("\ufffd") or not now.startswith(before):
                yield ""
                continue
            yield now[len(before) :]
            start, known = known, len(told)
        yield self.decode(told[start:])[len(self.decode(told[start:known])) :]

    def _checked(self, ids: ArrayLike) -> list[int]:
        return [int(i) for i in as_ids(ids, self.vocab_size).ravel()]


def _check(spec: Spec) -> None:
    """Refuse what would change ids behind the reader's back."""
    why = ""
    if spec.get("truncation") is not None:
        why = f"truncation (max_length {spec['truncation'].get('max_length')}) cuts texts short"
    elif spec.get("padding") is not None:
        why = f"padding (with {spec['padding'].get('pad_token')!r}) adds tokens that no text has"
    elif (spec["model"].get("dropout") or 0) > 0:
        why = f"dropout {spec['model']['dropout']} makes its tokens random"
    elif added := _added_by(spec.get("post_processor")):
        why = f"post_processor {spec['post_processor']['type']} adds {', '.join(map(repr, added))} to every text"
    if why:
        raise TextError(f"tokenizer.json: {why}: expected none (take it out of the file; units are closed here)")


def _added_by(processor: Spec | None) -> list[str]:
    """The tokens a post-processor adds."""
    kind = None if processor is None else processor["type"]
    if processor is None or kind == "ByteLevel":  # which trims offsets, no more
        return []
    if kind == "Sequence":
        return [token for part in processor["processors"] for token in _added_by(part)]
    if kind == "TemplateProcessing":
        return [part["SpecialToken"]["id"] for part in processor["single"] if "SpecialToken" in part]
    return [processor["cls"][0], processor["sep"][0]]


def _strict(spec: Spec) -> dict[str, Any]:
    """The same, but that a BPE without an unknown symbol refuses what it would drop."""
    model = spec["model"]
    if model["type"] == "BPE" and model.get("unk_token") is None and not model.get("byte_fallback"):
        model = {**model, "unk_token": _NO_SUCH_TOKEN}
    return {**spec, "model": model}


def _unknown(spec: Spec, vocab: Mapping[str, int]) -> int | None:
    model = spec["model"]
    if model["type"] == "Unigram":
        found: int | None = model.get("unk_id")
        return found
    return vocab.get(model.get("unk_token"))


def _steps(part: Spec | None, inside: str) -> list[Spec]:
    """A normalizer, pre-tokenizer or decoder as the list of its steps."""
    if part is None:
        return []
    return [step for one in part[inside] for step in _steps(one, inside)] if part["type"] == "Sequence" else [part]


def _added(spec: Spec) -> list[Spec]:
    return list(spec.get("added_tokens") or [])


def _strips(token: Spec) -> bool:
    return bool(token.get("lstrip") or token.get("rstrip"))


def _is_byte_level(spec: Spec, vocab: Mapping[str, int]) -> bool:
    """Whether tokens are the consecutive bytes of any text: byte-level BPE, whatever parts the text before."""
    model, letters = spec["model"], set(byte_letters())
    steps = _steps(spec.get("pre_tokenizer"), "pretokenizers")
    decoder = spec.get("decoder") or {}
    added = {token["content"] for token in _added(spec)}
    plain = (
        model["type"] == "BPE" and not model.get("continuing_subword_prefix") and not model.get("end_of_word_suffix")
    )
    return (
        plain
        and spec.get("normalizer") is None
        and decoder.get("type") == "ByteLevel"
        and bool(steps)
        and steps[-1]["type"] == "ByteLevel"
        and not any(step.get("add_prefix_space") or step.get("behavior") == "Removed" for step in steps)
        and all(step["type"] in ("ByteLevel", "Split", "Digits", "Punctuation") for step in steps)
        and sum(step["type"] == "ByteLevel" for step in steps) == 1
        and not any(_strips(token) for token in _added(spec))
        and letters <= vocab.keys()
        and all(set(token) <= letters for token in vocab.keys() - added)
        and all(_bytes_of(token) == utf8(token) for token in added)
    )


def _bytes_of(token: str) -> bytes:
    """What the byte-level decoder makes of a token."""
    known = all(letter in _BYTE_OF for letter in token)
    return bytes(_BYTE_OF[letter] for letter in token) if known else utf8(token)


_BYTE_OF = {letter: b for b, letter in enumerate(byte_letters())}


def _loses(spec: Spec) -> str:
    """Why decoding may not give the text again."""
    reasons = [f"text is normalised ({step['type']})" for step in _steps(spec.get("normalizer"), "normalizers")]
    for step in _steps(spec.get("pre_tokenizer"), "pretokenizers"):
        if step["type"] != "ByteLevel":
            reasons.append(f"text is split ({step['type']})")
        elif step.get("add_prefix_space"):
            reasons.append("a space is put before it (add_prefix_space)")
    reasons += [f"{token['content']!r} takes white space with it" for token in _added(spec) if _strips(token)]
    return "; ".join(dict.fromkeys(reasons)) or "tokens are joined again by a foreign decoder"


def _parts_at_spaces(spec: Spec) -> bool:
    """Whether a cut before a space changes no id."""
    first = (_steps(spec.get("pre_tokenizer"), "pretokenizers") or [{}])[0]
    words = first.get("type") in _WORDS
    bytewise = first == spec.get("pre_tokenizer") and first.get("type") == "ByteLevel" and first.get("use_regex", True)
    steps = _steps(spec.get("normalizer"), "normalizers")
    return (
        (words or (bytewise and not first.get("add_prefix_space") and not steps))
        and all(step["type"] in _BY_CHARACTER for step in steps)
        and not any(_strips(token) or token["content"].split() != [token["content"]] for token in _added(spec))
    )
