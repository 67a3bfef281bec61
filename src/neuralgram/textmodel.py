"""Strings in, strings out: tokenizer + boundary + LanguageModel.

Only here is text turned into ids and back, are units closed and prompts padded with the boundary
symbol, and are bytes counted. Everything below works on ids; everything above speaks to this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram import modeldir
from neuralgram.errors import InputError, ModelDirError
from neuralgram.glance import table
from neuralgram.lm import LanguageModel, perplexity
from neuralgram.sampling import Chooser, Sampling
from neuralgram.settings import whole
from neuralgram.text.windows import Corpus, Ids, Windows

if TYPE_CHECKING:
    from neuralgram.text.scores import Scores
    from neuralgram.text.tokenizers import Tokenizer

_BLOCK = 1 << 18  # characters of texts that are scored at once
END = "<end>"  # how a person is shown the boundary symbol; it can never be part of a text


class TokenScore(NamedTuple):
    """One scored token: what is shown for it, its id, its place in the text, and −log P in nats.

    `start`, `end` are character offsets into the text; the end of a unit is an empty span.
    """

    symbol: str
    id: int
    start: int
    end: int
    nats: float


class Candidate(NamedTuple):
    """A possible next token and its probability."""

    symbol: str
    id: int
    probability: float


@dataclass(repr=False)
class TextModel:
    """A model that reads and writes strings; `neuralgram.load(dir)` gives one.

    boundary   `stream`, `line` or `document`: what the model was trained with
    info       what neuralgram.json tells of its training; empty for a model made by hand
    frequencies  occurrences of each symbol in the training part, [V], where they are known
    """

    model: LanguageModel
    tokenizer: Tokenizer
    boundary: str = "stream"
    info: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    frequencies: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.boundary not in modeldir.BOUNDARIES:
            raise InputError(f"boundary {self.boundary!r}: expected one of {', '.join(modeldir.BOUNDARIES)}")
        modeldir.check_vocabulary(self.model.vocab_size, self.tokenizer, self.boundary)

    def __repr__(self) -> str:
        kind = self.model.called
        told = [kind, f"V {self.model.vocab_size}", f"context {self.model.context}", self.tokenizer.name, self.boundary]
        return f"<TextModel: {', '.join(told + [str(self.path)] * (self.path is not None))}>"

    def _repr_html_(self) -> str:
        own = [("tokenizer", self.tokenizer.name), ("boundary", self.boundary)]
        own += [("directory", str(self.path))] * (self.path is not None)
        return table(self.model, own)

    @property
    def boundary_id(self) -> int | None:
        """The id of the boundary symbol, V − 1, or None in a stream."""
        return None if self.boundary == "stream" else self.model.vocab_size - 1

    def symbol(self, token: int) -> str:
        """What a person is shown for one token."""
        return END if token == self.boundary_id else self.tokenizer.symbol(token)

    def atom(self, typed: str) -> int | None:
        """The one token a person means by what was typed: its symbol, or a text that is encoded as it alone."""
        return self.boundary_id if typed == END and self.boundary_id is not None else self.tokenizer.atom(typed)

    def corpus(self, text: str) -> Corpus:
        """The text as ids: one stream, one unit a line, or one unit in all."""
        from neuralgram.text.strings import encode_texts

        return self._corpus(encode_texts(self.tokenizer, self.boundary, [text]).ids)

    def score(self, text: str, *, ends: bool = True) -> list[TokenScore]:
        """Every predicted token of `text` with its loss in nats and its character offsets; `ends=False` leaves out
        the ends of units."""
        return self.score_texts([text], ends=ends)[0]

    def score_texts(self, texts: Iterable[str], *, ends: bool = True) -> list[list[TokenScore]]:
        """`score` of each text, many short ones at once: each is scored as if it were alone."""
        from neuralgram.text.strings import place_text

        placed = [place_text(self.tokenizer, self.boundary, text) for text in texts]
        ids = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in placed)])
        starts = np.cumsum([0, *(len(ids) for ids, _ in placed)])
        found = []
        for scored, (own, spans) in zip(self._scores(ids, starts, ends=True), placed, strict=True):
            first = len(own) - len(scored.ids)
            each = zip(own[first:].tolist(), spans[first:].tolist(), scored.nats.tolist(), strict=True)
            tokens = [TokenScore(self.symbol(token), token, start, end, nats) for token, (start, end), nats in each]
            found.append([token for token in tokens if ends or token.id != self.boundary_id])
        return found

    def scores(self, texts: Iterable[str], *, ends: bool = True) -> Scores:
        """The losses of many texts as arrays; `ends=False` leaves out the ends of units. Faster than `score_texts`:
        nothing is said of where tokens stand.

        Raises `TextError` for a text that the tokenizer cannot read, `texts[i]` of its block.
        """
        from neuralgram.text.scores import Scores

        return Scores.join(self.score_blocks(texts, ends=ends))

    def score_blocks(self, texts: Iterable[str], *, ends: bool = True) -> Iterator[Scores]:
        """`scores` block by block, in the memory of one block: for more texts than fit into memory."""
        from neuralgram.text.strings import encode_texts

        for block in _blocks(texts):
            yield self._scores(*encode_texts(self.tokenizer, self.boundary, block), ends=ends)

    def perplexity(self, text: str, *, ends: bool = True) -> float:
        """exp of the total loss of `text` over its scored tokens; `ends=False` leaves out the ends of units."""
        from neuralgram.text.strings import encode_texts

        encoded = encode_texts(self.tokenizer, self.boundary, [text])
        scores = self._scores(*encoded, ends=ends)
        if not len(scores.nats):
            why = "it has no line" if self.boundary_id is not None else self._width()
            raise InputError(f"a text of {len(encoded.ids)} tokens leaves nothing to score: {why}")
        return perplexity(float(scores.nats.sum()), len(scores.nats))

    def _scores(self, ids: Ids, starts: NDArray[np.int64], *, ends: bool) -> Scores:
        """Of texts that stand one after another, text i from starts[i] to starts[i + 1] − 1."""
        from neuralgram.text.scores import Scores

        windows = self._corpus(ids).windows(self.model.context)
        scored = np.arange(len(ids)) - np.repeat(starts[:-1], np.diff(starts)) >= windows.start
        nats = self._nats(windows, np.flatnonzero(scored) - windows.start)
        if not ends and self.boundary_id is not None:
            nats = nats[ids[scored] != self.boundary_id]
            scored &= ids != self.boundary_id
        begins = np.append(0, np.cumsum(scored))[starts]
        return Scores.of(self.tokenizer, self.boundary, ids[scored].astype(np.int64), nats, begins)

    def _nats(self, windows: Windows, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The losses of the windows at `places`: of streams one after another not of all, since the first tokens of
        one have those of another before them."""
        if len(places) == len(windows):
            return self.model.score(windows)
        size = self.model.score_batch
        blocks = (windows.gather(places[i : i + size]) for i in range(0, len(places), size))
        return np.concatenate([np.empty(0), *(self.model.context_nll(*block) for block in blocks)])

    def _corpus(self, ids: Ids) -> Corpus:
        return Corpus(ids, self.model.vocab_size, self.boundary_id)

    def predict(self, context: str, k: int = 5) -> list[Candidate]:
        """The `k` likeliest next tokens after `context`, best first; ties in id order."""
        if whole("k", k) < 1:
            raise InputError(f"k = {k}: expected at least 1")
        log_probs = self.model.log_probs(self.window(context)[None, :])[0]
        best = np.argsort(-log_probs, kind="stable")[:k]
        return [Candidate(self.symbol(int(i)), int(i), float(np.exp(log_probs[i]))) for i in best]

    def generate(
        self,
        prompt: str = "",
        n: int = 100,
        temperature: float = 1.0,
        seed: int = 0,
        *,
        sampling: Sampling | None = None,
        unknown: bool = True,
    ) -> Iterator[str]:
        """Pieces of text that continue `prompt`: at most `n` tokens, fewer where the text ends by itself.

        `sampling` says more than a temperature: top-k, top-p, bans. `unknown=False` never draws the unknown symbol.
        Joined, the pieces are the new text.
        """
        if sampling is not None and temperature != 1.0:
            raise InputError(f"temperature {temperature} beside sampling: expected one of them; give Sampling the two")
        ids = self.ids(prompt, n, sampling=sampling or Sampling(temperature), seed=seed, unknown=unknown)
        return self.decode_after(prompt, ids)

    def decode_after(self, prompt: str, ids: Iterable[int]) -> Iterator[str]:
        """The text of `ids`, piece by piece, as the continuation of `prompt`."""
        return self.tokenizer.decode_stream(ids, after=self._last_unit(prompt))

    def ids(
        self, prompt: str = "", n: int = 100, *, sampling: Sampling | None = None, seed: int = 0, unknown: bool = True
    ) -> Iterator[int]:
        """The ids `generate` decodes; the boundary symbol ends them and is not among them."""
        if n < 0:
            raise InputError(f"n = {n} tokens to generate: expected 0 or more")
        sampling = sampling or Sampling()
        if not unknown and self.tokenizer.unknown is not None:
            sampling = Sampling(
                sampling.temperature, sampling.top_k, sampling.top_p, (*sampling.banned, self.tokenizer.unknown)
            )
        tokens = self.model.stream(self.window(prompt), sampling, seed)
        return (token for token in _until(islice(tokens, n), self.boundary_id))

    def weights(self, prompt: str, sampling: Sampling) -> NDArray[np.float64]:
        """The probabilities [V] from which the next token after `prompt` would be drawn."""
        return Chooser(sampling, 0).weights(self.model.log_probs(self.window(prompt)[None, :])[0])

    def window(self, prompt: str) -> NDArray[np.int64]:
        """The c ids the model reads after `prompt`; what is missing before a unit is the boundary symbol."""
        from neuralgram.text.strings import as_read

        context = self.model.context
        ids = self._encode(self._last_unit(as_read(self.tokenizer, self.boundary, prompt)))
        if len(ids) >= context:
            return ids[len(ids) - context :]
        if self.boundary_id is None:
            raise InputError(f"a prompt of {len(ids)} tokens: {self._width()}; give a longer prompt")
        return np.concatenate([np.full(context - len(ids), self.boundary_id, np.int64), ids])

    def save(self, folder: Path | str) -> None:
        """Write the model directory `folder`."""
        modeldir.save(folder, modeldir.Saved(self.model, self.tokenizer, self.boundary, self.info, self.frequencies))

    def _encode(self, text: str) -> NDArray[np.int64]:
        return np.asarray(self.tokenizer.encode(text)).astype(np.int64)

    def _last_unit(self, prompt: str) -> str:
        return prompt.rpartition("\n")[-1] if self.boundary == "line" else prompt

    def _width(self) -> str:
        return f"this model reads windows of {self.model.context} and has no boundary symbol (--boundary stream)"


def load(folder: Path | str) -> TextModel:
    """The model in a directory, with its tokenizer and boundary: strings in, strings out.

    An ARPA file, plain or gzip, is a model too: its words are parted by white space, its units are lines.
    """
    if Path(folder).is_file():
        return read_arpa(Path(folder))
    saved = modeldir.load(folder)
    if saved.tokenizer is None:
        raise ModelDirError(f"{folder}: has no tokenizer.json, so it reads no text; `load_nplm` gives the bare network")
    try:
        return TextModel(saved.model, saved.tokenizer, saved.boundary, saved.info, Path(folder), saved.frequencies)
    except InputError as error:
        raise ModelDirError(f"{folder}: {error}") from None


def read_arpa(path: Path) -> TextModel:
    """The counting model of an ARPA file, over words; a stream where the file has no boundary to predict."""
    from neuralgram.ngram import arpa
    from neuralgram.text.tokenizers import Words

    if not modeldir.is_arpa(path):
        raise ModelDirError(f"{path}: is a file; expected a model directory, or an ARPA file (.arpa, .arpa.gz)")
    read = arpa.read_arpa(path)
    closed = read.model.boundary is not None
    words = Words(read.symbols[:-1] if closed else read.symbols)
    return TextModel(read.model, words, "line" if closed else "stream", path=path)


def _until(tokens: Iterator[int], end: int | None) -> Iterator[int]:
    for token in tokens:
        if token == end:
            return
        yield token


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in blocks of about `_BLOCK` characters, each text whole."""
    block, size = [], 0
    for text in texts:
        block.append(text)
        size += len(text) + 1
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block
