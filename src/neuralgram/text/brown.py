"""The Brown corpus as NLTK distributes it (brown.zip): its words without tags, a mark before each paragraph.

A sentence is a line and a file a document, in the order of the names (ca01 … cr09), which is that of the categories:
as one stream 1 176 859 tokens of 56 058 types.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from neuralgram.errors import TextError

PARAGRAPH = "<p>"
_MEMBER = re.compile(r"(?:.*/)?(c[a-r]\d\d)")
EXPECTED = "expected the Brown corpus as NLTK distributes it (brown.zip)"


def brown_documents(path: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """Name and text of every file of the corpus, the text paragraph by paragraph."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted((m.group(1), m.group()) for m in map(_MEMBER.fullmatch, archive.namelist()) if m)
            if not members:
                raise TextError(f"{path}: a zip file without members ca01 … cr09: {EXPECTED}")
            for name, member in members:
                yield name, _paragraphs(archive.read(member).decode("utf-8"))
    except (zipfile.BadZipFile, UnicodeDecodeError, OSError) as error:
        raise TextError(f"{path}: {error}: {EXPECTED}") from None


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        sentences = [_words(line) for line in paragraph.split("\n") if line.strip()]
        if sentences:
            yield f"{PARAGRAPH} " + "\n".join(sentences) + "\n"


def _words(sentence: str) -> str:
    return " ".join(tagged.rpartition("/")[0] for tagged in sentence.split())
