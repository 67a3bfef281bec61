"""The state of a page as an address: what comes back is what went in, and what makes no sense is said."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from neuralgram.errors import InputError
from neuralgram.lessons import LESSONS
from neuralgram.serving.explorer import address as addresses
from neuralgram.serving.explorer.address import Address, read_set, write_set
from neuralgram.serving.explorer.session import FIVE, Session
from neuralgram.serving.explorer.settings import DEFAULTS, Change, Limits, from_plain, to_plain

pytest.importorskip("nicegui")  # an address asks the views what they look at
LIMITS = Limits()


def there_and_back(address: Address) -> Address:
    return addresses.read(dict(parse_qsl(addresses.write(address))), LIMITS)


def test_settings_survive_the_trip_through_an_address():
    for name in ("animals", "story", "tales"):
        settings = replace(DEFAULTS[name], seed=7, direct=True, lr=0.0123, d_hidden=0)
        looks = {"network": FIVE, "window": "0.1", "wires": "weight"}
        address = Address("vectors", settings, 12, (Change(3, 0.1, 0.0),), looks)
        assert there_and_back(address) == address
    assert from_plain({k: str(v) for k, v in to_plain(DEFAULTS["story"]).items()}) == DEFAULTS["story"]


def test_a_changed_lesson_survives_the_trip_through_an_address():
    """Two numbers and a word of FACTS 2b changed: the lesson restored has them, and only them."""
    lesson = LESSONS["five-words"]
    asked = [("H[0][1]", 0.3), ("C[cat][0]", -1.25e-7), ("window[1]", "dog"), ("lr", 0.2)]  # 0.2 is as published
    values, _ = lesson.changed(asked)
    changes = lesson.differences(values)
    assert changes == {"window[1]": "dog", "C[1][0]": -1.25e-7, "H[0][1]": 0.3}
    back = there_and_back(Address("lessons", looks={"lesson": "five-words", "set": write_set(changes)}))
    assert back.looks["lesson"] == "five-words"
    restored, said = lesson.changed(list(read_set(back.looks["set"]).items()))
    assert restored["H"].tolist() == [[0.5, 0.3, 0.8, 0.1], [-0.4, 0.6, 0.1, 0.9]]
    assert restored["window"].tolist() == [0, 2]
    assert restored["C"][1, 0] == -1.25e-7
    assert "H[0][1] = 0.3" in said
    assert lesson.differences(lesson.run().values) == {}


def test_every_number_of_every_lesson_fits_into_an_address():
    for lesson in LESSONS.values():
        values = {name: parameter.value + 0.123456789 for name, parameter in lesson.parameters.items()}
        words = {name for name, parameter in lesson.parameters.items() if parameter.words}
        values |= {name: lesson.parameters[name].value * 0 + 1 for name in words}
        changes = lesson.differences(values)
        looks = {"lesson": lesson.name, "set": write_set(changes)} if changes else {"lesson": lesson.name}
        address = Address("lessons", looks=looks)
        assert there_and_back(address) == address
        assert read_set(looks.get("set", "")) == changes


def test_own_text_is_never_in_an_address():
    session = Session()
    session.read(DEFAULTS["own"], "a secret between us. " * 30)
    session.start().run_to(5)
    looks = {"window": "1.2.3", "lesson": "softmax", "set": "z[0]=2"}
    assert dict(parse_qsl(addresses.write(session.address("read", looks)))) == {
        "view": "read",
        "lesson": "softmax",
        "set": "z[0]=2",
    }


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"view": "secrets"}, "view"),
        ({"step": "1e9"}, "step"),
        ({"step": "20001"}, "at most 20,000"),
        ({"sample": "own"}, "never in an address"),
        ({"sample": "brown"}, "sample"),
        ({"d_hidden": "1000000000"}, "hidden units"),
        ({"d_hidden": "many"}, "hidden units"),
        ({"direct": "2"}, "direct"),
        ({"step": "5", "then": "9:0.1:0"}, "in order"),
        ({"step": "5", "then": "x"}, "step:rate:decay"),
        ({"step": "5", "then": "1:nan:0"}, "rates of 0 or more"),
        ({"window": "a" * 300}, "window"),
        ({"set": "a" * 4_001}, "set of 4001 characters"),
    ],
)
def test_hostile_addresses_are_refused_in_words(query: dict[str, str], words: str):
    with pytest.raises(InputError, match=words):
        addresses.read(query, LIMITS)
    kept = addresses.salvage({"lesson": "softmax"} | query | {"view": "lessons"})
    assert kept == Address("lessons", looks={"lesson": "softmax"})
    assert addresses.salvage({"view": "secrets", "lesson": "a" * 300}) == Address()


def test_what_a_view_looks_at_is_in_its_address_and_nowhere_else(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match="view 'toy': expected one of train, inside"):
        addresses.read({"view": "toy"}, LIMITS)
    monkeypatch.setattr(addresses, "VIEWS", addresses.VIEWS | {"toy": "tests.serving.toy:Toy"})
    address = Address("toy", looks={"colour": "green", "unknown": "1"})
    assert there_and_back(address) == Address("toy", looks={"colour": "green"})
    with pytest.raises(InputError, match="colour of 10 characters in the address: expected at most 9"):
        addresses.read({"colour": "a" * 10}, LIMITS)
    assert "colour" not in addresses.write(replace(address, settings=DEFAULTS["own"]))


@pytest.mark.parametrize("text", ["H", "=3", "H[0][1]=", "H[0][1]=0.3;;x"])
def test_what_is_no_change_is_refused(text: str):
    with pytest.raises(InputError, match="expected NAME"):
        read_set(text)
