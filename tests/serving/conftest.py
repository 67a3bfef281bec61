"""One browser and one explorer for all the browser tests of a worker; a page that notes every message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.chromium import WIDE, launched, missing, serving


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    reason = missing()
    if reason:
        pytest.skip(reason)
    with launched() as found:
        yield found


@pytest.fixture(scope="session")
def own_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory: two hidden layers, tied output vectors of 48 numbers, each document closed."""
    from neuralgram.neural.nplm import NPLM
    from neuralgram.rng import PCG32
    from neuralgram.text.tokenizers import Chars
    from neuralgram.textmodel import TextModel

    folder = tmp_path_factory.mktemp("models") / "own"
    net = NPLM(9, 3, 48, [8, 6], tie=True, rng=PCG32(7))
    for parameter in net.parameters():
        parameter.data.mul_(4)  # so that its words differ in probability
    TextModel(net, Chars(list("abcdefgh")), "document").save(folder)
    return folder


@pytest.fixture(scope="session")
def explorer(browser: Any, own_model: Path) -> Iterator[str]:
    with serving(str(own_model), module="tests.serving.toy") as address:  # with one view more than the explorer has
        yield address


@pytest.fixture(scope="session")
def contexts(browser: Any) -> dict[str, Any]:
    """Browser contexts by their options: pages of one share its cache, and each page is a visitor all the same."""
    return {}


@pytest.fixture
def visit(browser: Any, contexts: dict[str, Any]) -> Iterator[Callable[..., Any]]:
    """`visit(url)`: a new visitor's page; in the end no page has said anything on its console or asked elsewhere.

    `window` tells windows apart: of two pages in one, only the one in front is drawn.
    """
    pages, said = [], []

    def open_page(url: str, window: int = 0, **options: Any) -> Any:
        key = f"{window} {options}"
        if key not in contexts:
            contexts[key] = browser.new_context(**({"viewport": WIDE} | options))
        page = contexts[key].new_page()
        pages.append(page)
        page.set_default_timeout(60_000)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda r: said.append(f"asked {r.url}") if not _near(r.url) else None)
        page.goto(url)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []


def _near(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "file:", "data:", "blob:"))
