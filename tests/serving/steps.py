"""What a visitor does on the explorer's page, step by step, and what they read there."""

from __future__ import annotations

import re
from typing import Any

import pytest


def figures(page: Any) -> tuple[str, str, str]:
    """Step, training and held-out loss as the page shows them."""
    return tuple(page.locator(f"#{name}").inner_text() for name in ("step", "train-loss", "valid-loss"))


def ready(page: Any, step: int = 0) -> None:
    """Wait until the run stands at `step`."""
    page.locator("#step", has_text=re.compile(f"^{step:,}$")).wait_for()


def steps(page: Any, count: int) -> None:
    """Press the button that makes `count` updates."""
    page.get_by_label("how many steps").fill(str(count))
    page.get_by_label("how many steps").press("Tab")
    page.get_by_role("button", name="N steps").click()


def choose(page: Any, label: str, option: str) -> None:
    """Choose from a menu."""
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()
    page.wait_for_function("() => !document.querySelector('.q-menu')")  # it fades, and is in the way until it has


def probability(page: Any, word: str, expected: str) -> None:
    """Wait until p of a word in the drawing of the network begins with the digits `expected`."""
    row = page.locator(".net .p .row", has=page.get_by_text(word, exact=True))
    row.locator(".n", has_text=re.compile(f"^{re.escape(expected)}")).wait_for()


def wire_by_keyboard(page: Any) -> None:
    """The thickest wire into the hidden units: where it runs, what it opens, and the next thickest by an arrow key."""
    wire = page.locator("[data-n='wire|hidden.weight|0|2']")
    assert wire.get_attribute("aria-label") == "H[0][2]·x[2] = 0.64"
    assert wire.locator(".line").get_attribute("stroke-width") == "6.00"
    ends = wire.evaluate("""wire => {
        const line = wire.querySelector('.line'), end = line.getPointAtLength(line.getTotalLength());
        const box = (selector) => document.querySelector(selector).getBoundingClientRect();
        const centre = (key) => (box(`[data-n="${key}"]`).top + box(`[data-n="${key}"]`).bottom) / 2;
        const top = box('.net').top;
        return [line.getPointAtLength(0).y + top - centre(wire.from), end.y + top - centre(wire.to)];
    }""")
    assert ends == pytest.approx([0, 0], abs=1)
    page.locator(".net .p .n").last.focus()
    page.keyboard.press("Tab")  # after the numbers come the wires: one stop for those into the hidden units
    assert page.evaluate("document.activeElement.dataset.n") == "wire|hidden.weight|0|2"
    page.keyboard.press("Enter")
    page.get_by_role("status", name="the number opened").get_by_text("= 0.8 − 0.2·(−0.2283)").wait_for()
    assert page.locator(".wire.lit").count() == 1
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "H[1][3]·x[3] = 0.36"
    page.keyboard.press("Escape")
    page.get_by_role("status", name="the number opened").wait_for(state="hidden")
