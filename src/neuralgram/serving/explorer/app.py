"""The server: one page, one session a visitor, PyTorch imported behind the page's back."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path

from nicegui import Client, app, ui

from neuralgram.errors import InputError
from neuralgram.serving.explorer import address as addresses
from neuralgram.serving.explorer.address import Address
from neuralgram.serving.explorer.limits import Limits
from neuralgram.serving.explorer.session import Session
from neuralgram.serving.explorer.shell import Shell
from neuralgram.textmodel import TextModel

_STATIC = Path(__file__).parent / "static"
_ENGINE = threading.Event()


def serve(
    models: Mapping[str, TextModel],
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool = True,
    limits: Limits | None = None,
) -> None:
    """Serve the explorer until it is stopped. `browser` opens it in one."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # many small networks: one thread each, or all are slower
    bounds = limits or Limits()
    sessions: set[Session] = set()

    @ui.page("/", title="neuralgram explorer", dark=None, language="en-US", response_timeout=20)
    async def index(client: Client) -> None:
        await _page(client, dict(models), bounds, sessions)

    css, js = ((_STATIC / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    ui.add_head_html(f"<style>{css}</style><script>{js}</script>", shared=True)
    app.on_startup(lambda: threading.Thread(target=_import_engine, name="engine", daemon=True).start())
    print(f"the explorer is at http://{host}:{port}/ (Ctrl-C stops it)", flush=True)
    ui.run(
        host=host,
        port=port,
        title="neuralgram explorer",
        show=browser,
        reload=False,
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=5.0,
        favicon="📖",
    )


async def _page(client: Client, models: dict[str, TextModel], limits: Limits, sessions: set[Session]) -> None:
    await client.connected(timeout=30)  # a page that was only fetched gets no session
    if len(sessions) >= limits.sessions:
        ui.label(f"{limits.sessions} pages are open, which is the most this server keeps; close one and load again.")
        return
    problem = ""
    try:
        start = addresses.read(dict(client.request.query_params), limits)
    except InputError as error:
        start, problem = Address(), str(error)
    session = Session(limits, models)
    sessions.add(session)

    def leave() -> None:
        session.close()
        sessions.discard(session)

    client.on_delete(leave)
    shell = Shell(session, start, _ENGINE.is_set)
    if problem:
        shell.say(f"This address cannot be restored: {problem}")
    await shell.begin()


def _import_engine() -> None:
    """PyTorch takes a second to import: begun once the server answers."""

    _ENGINE.set()
