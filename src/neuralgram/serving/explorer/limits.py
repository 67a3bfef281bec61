"""What one visitor may use, and the messages that say so."""

from __future__ import annotations

from dataclasses import dataclass

from neuralgram.errors import InputError

_LEAST = 40  # characters of a text of one's own


@dataclass(frozen=True)
class Limits:
    """Bounds of one visitor's session.

    characters   of a text of their own
    vocabulary   V
    parameters   of the network
    steps        updates of one run, and so of a replay
    seconds      of training in all
    sessions     visitors at once, over all of whom the machine is shared
    """

    characters: int = 200_000
    vocabulary: int = 4_000
    parameters: int = 2_000_000
    steps: int = 20_000
    seconds: float = 1_800.0
    sessions: int = 64

    def check_text(self, text: str) -> None:
        """Refuse a text that is empty, too short or too long."""
        if not text.strip():
            raise InputError("an empty text: paste some sentences, or choose one of the samples")
        if len(text) < _LEAST:
            raise InputError(
                f"a text of {len(text)} characters is too short to train on and to hold a tenth of it out: "
                f"paste at least {_LEAST}, a few sentences"
            )
        if len(text) > self.characters:
            raise InputError(
                f"a text of {len(text):,} characters: this page takes up to {self.characters:,}; paste a part of it, "
                "or train on the whole with `neuralgram train nplm`"
            )

    def check_size(self, vocabulary: int, parameters: int) -> None:
        """Refuse a network too large for a page that answers while it trains."""
        if vocabulary > self.vocabulary:
            raise InputError(
                f"{vocabulary:,} different tokens: this page takes up to {self.vocabulary:,}; "
                "take the characters as tokens, or a shorter text"
            )
        if parameters > self.parameters:
            raise InputError(
                f"{parameters:,} parameters: this page takes up to {self.parameters:,}; make a size smaller"
            )
