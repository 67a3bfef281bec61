"""Pictures of every view, wide and at phone width: `python tests/serving/screenshots.py FOLDER`."""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent))

from chromium import PHONE, WIDE, launched, missing, serving

VIEWS = {
    "train": "view=train&sample=story&step=400",
    "inside": "view=inside&network=five+words&window=0.1&target=3",
    "vectors": "view=vectors&sample=story&step=600",
    "animals": "view=animals&step=300",
    "read": "view=read&step=300",
    "lessons": "view=lessons&lesson=five-words",
}
DARK = "view=inside&network=in+training&step=300&direct=1&d_hidden=8&window=7.2.0&target=15"
_COLOURS = 256  # the commonest of a picture are its palette: pages are flat, and a palette makes small files
_TALL = 2400


def main(folder: Path) -> None:
    """Draw them all."""
    folder.mkdir(parents=True, exist_ok=True)
    with launched() as browser:
        with serving() as address:
            for name, query in VIEWS.items():
                for size, shape in (("wide", WIDE), ("phone", PHONE)):
                    page = browser.new_page(viewport=shape, color_scheme="light")
                    draw(page, f"{address}?{query}", folder / f"{name}-{size}.png")
            page = browser.new_page(viewport=WIDE, color_scheme="dark")
            draw(page, f"{address}?{DARK}", folder / "inside-dark.png")
        _draw_export(browser, folder)


def draw(page: Any, url: str, to: Path) -> None:
    """Open a state and keep its picture."""
    page.goto(url)
    step = f"{int(parse_qs(urlsplit(url).query).get('step', ['0'])[0]):,}"
    page.locator("#step", has_text=re.compile(f"^{step}$")).wait_for(timeout=120_000)
    page.wait_for_timeout(1500)
    _keep(page, to)


def _draw_export(browser: Any, folder: Path) -> None:
    from neuralgram.exporting.html import to_html
    from neuralgram.serving.explorer.session import Session
    from neuralgram.serving.explorer.settings import DEFAULTS
    from neuralgram.textmodel import TextModel

    session = Session()
    session.read(DEFAULTS["story"])
    run = session.start()
    run.run_to(600)
    model = TextModel(run.model, run.ready.tokenizer, run.ready.boundary)
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "story.html"
        file.write_text(to_html(model, title="A story, character by character")[0], encoding="utf-8")
        for size, shape in (("wide", WIDE), ("phone", PHONE)):
            page = browser.new_page(viewport=shape, color_scheme="light")
            page.goto(file.as_uri())
            page.locator("#tokens button").first.wait_for()
            _keep(page, folder / f"export-{size}.png")


def _keep(page: Any, to: Path) -> None:
    from PIL import Image

    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, _TALL)))
    common = sorted(picture.getcolors(picture.width * picture.height), reverse=True)[:_COLOURS]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, colour in common for part in colour])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(to, optimize=True)
    print(f"{to}: {to.stat().st_size / 1000:.0f} kB")
    page.close()


if __name__ == "__main__":
    reason = missing()
    if reason:
        sys.exit(f"no pictures: {reason}")
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/explorer"))
