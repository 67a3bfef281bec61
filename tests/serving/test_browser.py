"""The explorer in a headless Chromium, as a visitor meets it. Nothing waits for a time, only for what is seen."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuralgram import load
from neuralgram.serving.explorer.reading import own_words
from tests.serving.chromium import PHONE
from tests.serving.steps import choose, figures, probability, ready, steps, wire_by_keyboard

Visit = Callable[..., Any]
pytestmark = pytest.mark.xdist_group("browser")


def test_training_lowers_the_loss_and_rewinding_brings_back_the_same_numbers(visit: Visit, explorer: str):
    page = visit(explorer)
    ready(page)
    start = figures(page)
    assert float(start[1]) == pytest.approx(2.77, abs=0.01)  # log 16
    page.get_by_role("button", name="Step", exact=True).click()
    ready(page, 1)
    steps(page, 119)
    ready(page, 120)
    later = figures(page)
    assert float(later[1]) < 1.2 < float(start[1])
    page.get_by_text("After 120 updates").first.wait_for()
    page.get_by_role("button", name="Rewind").click()
    ready(page)
    assert figures(page) == start
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Rewind").click()
    ready(page)
    steps(page, 120)
    ready(page, 120)
    assert figures(page) == later


def test_the_five_words_change_with_a_word_and_their_update_is_the_published_one(visit: Visit, explorer: str):
    page = visit(f"{explorer}?view=inside&network=nowhere")  # the five words stand in for what is not there
    page.locator(".net .p .n").first.wait_for()
    probability(page, "sat", "0.400")
    page.get_by_role("alert").get_by_text("network 'nowhere' in the address: expected one of in training").wait_for()
    choose(page, "w(t−1)", "dog")
    page.get_by_text("After “the dog”").wait_for()
    probability(page, "sat", "0.395")
    choose(page, "w(t−2)", "cat")
    choose(page, "w(t−1)", "the")
    page.get_by_text("After “cat the”").wait_for()
    probability(page, "sat", "0.324")
    choose(page, "w(t−2)", "the")
    choose(page, "w(t−1)", "cat")
    page.get_by_text("After “the cat”").wait_for()
    for _ in range(9):
        page.get_by_role("button", name="Next").click()
    page.get_by_text("10 of 10: before → after").wait_for()
    row = page.locator("[aria-label='step by step'] tr", has=page.get_by_role("rowheader", name="P(sat)", exact=True))
    row.first.wait_for()
    assert [float(text) for text in row.locator("td button").all_inner_texts()] == pytest.approx(
        [0.4000, 0.4811], abs=5e-5
    )
    page.get_by_text("Checked by finite differences").wait_for()


def test_a_number_opens_by_keyboard_with_its_inputs_filled_in_and_holds_still_while_training(
    visit: Visit, explorer: str
):
    page = visit(f"{explorer}?view=inside")
    cell = page.get_by_role("button", name="0.6640", exact=True).first
    cell.focus()
    page.keyboard.press("Enter")
    opened = page.get_by_role("status", name="the number opened")
    opened.get_by_text("tanh(0.8)").wait_for()
    assert "= 0.664" in opened.inner_text()
    wire_by_keyboard(page)
    ready(page)
    choose(page, "network", "in training")
    page.locator(".net .h .row").nth(15).wait_for()  # the five words have two hidden units
    page.locator(".net .n").nth(20).click()
    opened.get_by_text("as of step 0, held while it is open").wait_for()
    before = page.locator(".opened .formula").evaluate_all("all => all.map(one => one.innerText).join()")
    assert "0.8·0.8" not in before  # never the number that was open last
    wires = "Array.from(document.querySelectorAll('svg.wires .wire'), wire => wire.getAttribute('aria-label'))"
    still = [page.locator(".net").inner_text(), page.evaluate(wires), opened.locator(".formula").inner_text()]
    steps(page, 40)
    ready(page, 40)
    opened.get_by_role("button", name="Show it now").wait_for()
    assert [page.locator(".net").inner_text(), page.evaluate(wires), opened.locator(".formula").inner_text()] == still
    opened.get_by_role("button", name="Show it now").click()
    opened.get_by_text("as of step 40, held while it is open").wait_for()
    page.wait_for_function(
        """before => {
        const open = document.querySelector('.net .n.open');
        const lines = document.querySelector('.opened .formula').innerText;
        const last = Number(lines.trim().split('=').pop().replace('−', '-'));
        return lines !== before && Math.abs(last - Number(open.innerText.replace('−', '-'))) < 1e-4;
    }""",
        arg=still[2],
    )
    assert not opened.get_by_role("button", name="Show it now").is_visible()
    page.keyboard.press("Escape")
    opened.wait_for(state="hidden")
    later = page.evaluate(wires)
    steps(page, 5)
    page.wait_for_function(f"before => {wires}[0] !== before", arg=later[0])  # what is not open goes on
    assert page.evaluate(wires)[0].split(" = ")[0] == later[0].split(" = ")[0]


def test_nothing_under_the_mouse_or_the_focus_changes_its_meaning_while_training(visit: Visit, explorer: str):
    page = visit(f"{explorer}?view=vectors")
    ready(page)
    nearest = page.locator(".live", has=page.locator("[data-n^='near|']"))
    nearest.locator("[data-n^='near|']").nth(4).hover()
    names = "Array.from(document.querySelectorAll('[data-n^=\"near|\"]'), button => button.innerText)"
    before = page.evaluate(names)
    page.get_by_label("how many steps").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # a hundred, by keyboard: the mouse stays where it is
    ready(page, 100)
    page.locator(".live.held").get_by_text("Nearest to sheep").wait_for()
    assert page.evaluate(names) == before
    page.mouse.move(5, 5)
    page.wait_for_function(f"before => String({names}) !== before", arg=",".join(before))
    assert page.locator(".live.held").count() == 0

    page = visit(f"{explorer}?view=inside&network=in+training&context=4&d_emb=8&d_hidden=40")  # 32·40 weights: too many
    ready(page)
    page.locator(".net .h .row").nth(39).wait_for()
    weakest = page.locator("svg.wires g").first.locator(".wire").last
    key = weakest.get_attribute("data-n")
    weakest.evaluate("wire => wire.focus()")
    drawn = page.locator("svg.wires .wire").evaluate_all("wires => wires.map(wire => wire.dataset.n).sort().join()")
    page.evaluate("Array.from(document.querySelectorAll('button')).find(b => b.innerText === 'N steps').click()")
    ready(page, 100)
    changed = "Array.from(document.querySelectorAll('svg.wires .wire'), wire => wire.dataset.n).sort().join()"
    page.wait_for_function(f"before => {changed} !== before", arg=drawn)
    assert page.evaluate("document.activeElement.dataset.n") == key


def test_a_state_is_restored_from_its_address_and_two_visitors_do_not_share_a_run(visit: Visit, explorer: str):
    page = visit(f"{explorer}?view=inside&network=in+training&seed=3&window=1.2.3&target=4")
    ready(page)
    steps(page, 50)
    ready(page, 50)
    page.wait_for_url(re.compile("step=50"))
    page.locator(".net .p .n").first.wait_for()
    shown = page.locator(".net").inner_text()
    other = visit(page.url, window=1)
    ready(other, 50)
    other.wait_for_function("text => document.querySelector('.net')?.innerText === text", arg=shown)
    still = figures(page)
    assert figures(other) == still
    other.get_by_role("button", name="Play").click()
    other.wait_for_function("() => Number(document.getElementById('step').innerText.replace(',', '')) > 70")
    assert figures(page) == still
    steps(page, 10)
    ready(page, 60)
    other.get_by_role("button", name="Pause").click()


def test_a_replay_is_seen_and_stopped_and_a_reload_while_playing_goes_on_from_there(visit: Visit, explorer: str):
    page = visit(f"{explorer}?step=20000&d_hidden=64")
    page.locator(".state").get_by_text("on the way to 20,000 again").wait_for()
    assert "step=20000" in page.url  # a reload would begin again, and not forget
    page.get_by_role("button", name="Pause").click()
    page.locator(".state").get_by_text("on the way").wait_for(state="detached")
    page.get_by_role("button", name="Rewind").click()
    ready(page)
    page.get_by_role("button", name="Play").click()
    page.wait_for_url(re.compile("step=[1-9]"))
    step = int(re.findall(r"step=(\d+)", page.url)[0])
    page.reload()
    page.wait_for_function(
        "least => Number(document.getElementById('step')?.innerText.replace(',', '')) >= least", arg=step
    )


def test_a_model_of_ones_own_opens_on_its_own_words_and_is_seen_whole(visit: Visit, explorer: str, own_model: Path):
    page = visit(f"{explorer}?view=inside&network={own_model}")
    page.locator(".net .g").wait_for()
    said = page.locator(".net .C .lab").all_inner_texts()
    model = load(own_model)
    assert said == [model.symbol(i) for i in own_words(model, 4)[:3]] != ["a", "b", "c"]
    assert "the largest 24 of 48" in page.locator(".net .g").inner_text()
    assert page.locator(".net .g .n").count() == 24
    edge = page.locator(".net .p").evaluate("p => p.getBoundingClientRect().right")
    assert edge <= page.locator(".net").evaluate("net => net.getBoundingClientRect().right")  # though it is too wide
    page.get_by_text("The drawing scrolls sideways.").wait_for()
    page.locator(".net .p .n").first.click()
    page.get_by_role("status", name="the number opened").wait_for()
    page.get_by_role("button", name="Next").scroll_into_view_if_needed()
    panel = page.get_by_role("status", name="the number opened").bounding_box()
    assert page.get_by_role("button", name="Next").bounding_box()["y"] > panel["y"] + panel["height"]
    page.get_by_role("tab", name="Read and write").click()
    choose(page, "model", str(own_model))
    page.get_by_text("Not drawn: the end of a text, a line or a document").wait_for()
    assert page.locator(".tokens button").last.inner_text() == "⏎"
    assert page.locator("main").count() == 1
    assert page.locator("main main, main [role=main]").count() == 0


def test_a_new_text_of_ones_own_takes_the_place_of_the_one_before(visit: Visit, explorer: str):
    page = visit(f"{explorer}?view=read")
    ready(page)
    for text in ("a" * 60, "to be or not to be, that is the question. " * 3, "ab" * 40):
        page.get_by_role("tab", name="Train").click()
        if page.locator("textarea.own").count() == 0 or not page.locator("textarea.own").is_visible():
            choose(page, "text", "your own text")
        page.locator("textarea.own").fill(text)
        page.get_by_label("batch B").fill("16")
        page.get_by_role("button", name="Use this text").click()
        page.locator(".state").get_by_text("your own text").wait_for()
        page.get_by_text(f"V = {len(set(text))} tokens").wait_for()
        page.get_by_role("tab", name="Read and write").click()
        page.wait_for_function(
            "text => document.querySelector('textarea:not(.own)').value === text", arg=text[-len(text) // 10 :][:90]
        )
        page.locator(".tokens button").first.wait_for()


def test_divergence_is_explained_with_one_click_back(visit: Visit, explorer: str):
    page = visit(explorer)
    ready(page)
    steps(page, 30)
    ready(page, 30)
    page.get_by_label("learning rate ε").fill("900000")
    page.get_by_label("learning rate ε").press("Enter")
    page.wait_for_url(re.compile("then=30"))
    page.get_by_role("button", name="Play").click()
    page.get_by_text("Training diverged").wait_for()
    page.get_by_role("tab", name="Vectors").click()  # it is said, and mended, wherever one is
    page.locator(".state").get_by_text("diverged").wait_for()
    page.get_by_role("button", name=re.compile("^Back to step 30")).click()
    ready(page, 30)
    page.get_by_text("Training diverged").wait_for(state="detached")
    page.get_by_role("tab", name="Train").click()
    page.wait_for_function("() => document.querySelector('[aria-label=\"learning rate ε\"]').value === '90000'")
    page.get_by_role("button", name="Rewind").click()
    ready(page)
    page.wait_for_function("() => document.querySelector('[aria-label=\"learning rate ε\"]').value === '0.01'")


def test_hostile_input_gets_a_clear_message_and_harms_no_one(visit: Visit, explorer: str):
    page = visit(explorer)
    ready(page)
    for value in ("0", "1000000000"):
        page.get_by_label("window c").fill(value)
        page.get_by_role("button", name="Make this network").click()
        page.get_by_role("alert").get_by_text(
            f"window c {float(value):g}: expected a whole number from 1 to 12"
        ).wait_for()
    choose(page, "text", "your own text")
    area = page.locator("textarea.own")
    pasted = area.evaluate("""node => {
        const data = new DataTransfer();
        data.setData("text", "x".repeat(50_000_000));
        const how = { clipboardData: data, bubbles: true, cancelable: true };
        return node.dispatchEvent(new ClipboardEvent("paste", how));
    }""")
    assert pasted is False  # it was stopped before the browser would lay it out
    page.get_by_text("50,000,000 characters; this page takes up to 200,000").wait_for()
    page.locator("input[type=file]").set_input_files(
        {"name": "big.txt", "mimeType": "text/plain", "buffer": b"x" * 9**7}
    )
    page.get_by_text("4,782,969 characters; this page").wait_for()
    page.locator("input[type=file]").set_input_files(
        {"name": "odd.txt", "mimeType": "text/plain", "buffer": b"\xff\xfe"}
    )
    page.get_by_text("odd.txt is not text in UTF-8").wait_for()
    area.evaluate("node => { explorer.tooLong = () => false; node.value = 'x'.repeat(200_001); }")
    page.get_by_role("button", name="Use this text").click()  # the server asks for itself
    page.get_by_role("alert").get_by_text("a text of 200,001 characters").wait_for()
    area.fill("<script>document.title = 'harmed'</script><img src=x onerror=alert(1)>\n" * 20)
    choose(page, "tokens", "words")
    page.get_by_role("button", name="Use this text").click()
    page.locator(".state").get_by_text("your own text").wait_for()
    ready(page)
    page.get_by_text("V = 12 tokens").wait_for()  # the words chosen, not the characters a text starts with
    page.get_by_role("tab", name="Read and write").click()
    page.locator(".tokens button").first.wait_for()
    assert page.title() == "neuralgram explorer"
    assert page.url.endswith("?view=read")  # the address tells nothing of the text


def test_views_fit_a_phone_and_have_words_for_their_pictures(visit: Visit, explorer: str):
    page = visit(f"{explorer}?step=40", viewport=PHONE, color_scheme="dark")
    ready(page, 40)
    for name, words in (
        ("Inside", "After “the cat”"),
        ("Vectors", "16 of 16 tokens; the plane shows"),
        ("Why it generalises", "The 4-gram has seen “ate the”"),
        ("Read and write", "Perplexity over the"),
        ("Lessons", "A unit multiplies"),
        ("Train", "After 40 updates"),
    ):
        page.get_by_role("tab", name=name).click()
        page.get_by_text(words).locator("visible=true").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
    assert page.evaluate("document.body.classList.contains('body--dark')")
    page.get_by_role("button", name="Light / dark").click()  # once is enough, though the system chose the dark
    page.wait_for_function("() => !document.body.classList.contains('body--dark')")
    charts = page.locator(".nicegui-echart").evaluate_all("nodes => nodes.map(n => [n.role, n.ariaLabel])")
    assert len(charts) >= 4
    assert all(role == "img" and len(label) > 30 for role, label in charts)


def test_reading_and_writing(visit: Visit, explorer: str):
    page = visit(f"{explorer}?view=read&step=150")
    ready(page, 150)
    page.get_by_label("text to read").fill("the cow ate the hay . the sheep")
    page.get_by_text("Perplexity over the 5 tokens that all score").wait_for()
    bars = page.locator(".bars button.t")
    bars.first.wait_for()
    word = bars.first.evaluate("bar => { bar.click(); return bar.innerText; }")  # the bars of this text or the last
    page.wait_for_function("word => document.querySelector('textarea').value.endsWith('the sheep ' + word)", arg=word)
    page.locator(".tokens button", has_text="hay").click()
    page.wait_for_function("() => document.querySelector('textarea').value === 'the cow ate the hay'")
    page.get_by_role("button", name="Draw one").click()
    page.wait_for_function("() => document.querySelector('textarea').value.length > 'the cow ate the hay'.length")
    drawn = page.locator("textarea").first.input_value()
    assert drawn.startswith("the cow ate the hay ")
    assert len(drawn.split()) == 6


def test_the_map_finds_tokens_and_the_experiment_shows_its_outcomes(visit: Visit, explorer: str):
    page = visit(f"{explorer}?view=vectors&step=200")
    ready(page, 200)
    page.get_by_text("Nearest to sheep").wait_for()
    nearest = page.locator("[data-n^='near|']").all_inner_texts()[:2]
    assert "goat" in nearest
    page.get_by_label("find a token").fill("horse")
    page.get_by_text("nothing contains “horse” (all 16 tokens were searched)").wait_for()
    page.get_by_label("find a token").fill("gra")
    page.get_by_text("2 tokens contain “gra”").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as TSV").click()
    rows = download.value.path().read_text(encoding="utf-8").splitlines()
    assert len(rows) == 16
    assert all(len(row.split("\t")) == 4 for row in rows)  # the token and its m = 3 numbers
    page.get_by_role("tab", name="Train").click()
    page.get_by_role("button", name="Run the experiment").click()
    page.get_by_text("3. ✓ Training loss says the opposite").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Run it again").wait_for()


def test_a_lesson_is_open_to_change_and_its_address_hands_the_change_on(visit: Visit, explorer: str):
    hostile = f"{explorer}?view=lessons&lesson=softmax&set=z[0]=nan"
    page = visit(hostile, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("alert").get_by_text("z[0] = nan: expected a number").wait_for()
    page.get_by_text("0.4170").first.wait_for()  # as published
    assert page.get_by_text("Changed:").count() == 0
    page.get_by_role("button", name="Five words: a prediction and one update").click()
    page.get_by_text("0.4811").first.wait_for()
    assert page.get_by_text("as published").count() > 10
    page.get_by_text("Change the numbers").click()
    page.get_by_label("H[0][1]", exact=True).fill("0.3")
    page.get_by_text("Changed: H[0][1] = 0.3").wait_for()
    choose(page, "window[1]", "dog")
    page.get_by_text("Changed: window[1] = dog, H[0][1] = 0.3").wait_for()
    ready(page)
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("Copied").first.wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.endswith("lesson=five-words&set=window%5B1%5D%3Ddog%3BH%5B0%5D%5B1%5D%3D0.3")
    page.goto(link)
    page.get_by_text("Changed: window[1] = dog, H[0][1] = 0.3").wait_for()
    assert page.get_by_label("H[0][1]", exact=True).input_value() == "0.3"
    a = math.tanh(0.5 * 0.2 + 0.3 * -0.1 + 0.8 * 0.7 + 0.1 * 0.5)  # a[0] after “the dog”
    page.get_by_role("button", name=f"{a:.4f}", exact=True).first.wait_for()


def test_a_view_is_one_file_and_one_line(visit: Visit, explorer: str):
    """The toy view has its tab, its stop of the tour, and its look in the address."""
    page = visit(explorer)
    page.get_by_role("button", name="Tour").click()
    tour = page.get_by_role("region", name="tour")
    for place in ("1 of 6 · Train", "2 of 6", "3 of 6", "4 of 6", "5 of 6"):
        tour.get_by_text(f"Tour {place}").wait_for()
        tour.get_by_role("button", name="Next").click()
    tour.get_by_text("Tour 6 of 6 · A toy").wait_for()
    tour.get_by_text("Here the updates are counted.").wait_for()
    tour.get_by_role("button", name="Finish").click()
    ready(page)
    page.get_by_role("button", name="Paint it green").click()
    steps(page, 3)
    page.get_by_text("3 green updates").wait_for()
    page.wait_for_url(re.compile("view=toy.*step=3.*colour=green"))
    other = visit(page.url)
    other.get_by_text("3 green updates").wait_for()
    assert other.get_by_role("tab", selected=True).inner_text() == "A toy"
