"""The server: one page, one session a visitor, PyTorch imported behind the page's back."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from nicegui import Client, app, ui

from neuralgram.errors import InputError, NeuralgramError
from neuralgram.serving.explorer import address as addresses
from neuralgram.serving.explorer.session import Session
from neuralgram.serving.explorer.settings import Limits
from neuralgram.serving.explorer.shell import Shell
from neuralgram.textmodel import TextModel, load

_STATIC = Path(__file__).parent / "static"
_ENGINE = threading.Event()  # PyTorch is there
_LOADED = threading.Event()  # and so is every model
_SHOWN = threading.Event()  # the first page is drawn
_PATIENCE = 3.0  # seconds that PyTorch waits for the first page: imports and a page share one lock


def serve(
    folders: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool = True,
    limits: Limits | None = None,
) -> None:
    """Serve the explorer until it is stopped, with the models of `folders`. `browser` opens it in one."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # many small networks: one thread each, or all are slower
    bounds = limits or Limits()
    sessions: set[Session] = set()
    models: dict[str, TextModel] = {}

    @ui.page("/", title="neuralgram explorer", dark=None, language="en-US", response_timeout=20)
    async def index(client: Client) -> None:
        await _page(client, models, bounds, sessions)

    css, *scripts = ((_STATIC / name).read_text(encoding="utf-8") for name in ("page.css", "page.js", "wires.js"))
    js = "".join(scripts)
    ui.add_head_html(f"<style>{css}</style><script>{js}</script>", shared=True)
    engine = threading.Thread(target=_open_engine, args=(folders, models), name="engine", daemon=True)
    app.on_startup(engine.start)
    print(f"the explorer is at http://{host}:{port}/ (Ctrl-C stops it)", flush=True)
    ui.run(
        host=host,
        port=port,
        title="neuralgram explorer",
        show=browser,
        reload=False,
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=20.0,  # a busy machine answers late; no work is done meanwhile
        favicon="📖",
    )


async def _page(client: Client, models: dict[str, TextModel], limits: Limits, sessions: set[Session]) -> None:
    query = dict(client.request.query_params)
    try:
        start, problem = addresses.read(query, limits), ""
    except InputError as error:
        start, problem = addresses.salvage(query), str(error)
    session = Session(limits, models)

    def leave() -> None:
        session.close()
        sessions.discard(session)

    client.on_delete(leave)
    client.on_disconnect(session.hold)
    client.on_connect(session.resume)
    shell = Shell(session, start, _ENGINE.is_set, _LOADED.is_set)
    shell.on_shown = _SHOWN.set
    await client.connected(timeout=30)  # a page that was only fetched does no work
    if len(sessions) >= limits.sessions:
        shell.say(f"{limits.sessions} pages are open, the most this server keeps: close one and load this again.")
        return
    sessions.add(session)
    if problem:
        shell.say(f"This address cannot be restored: {problem}")
    await shell.begin()


def _open_engine(folders: Sequence[Path], models: dict[str, TextModel]) -> None:
    """PyTorch takes a second to import, and models take theirs to load: begun once the first page is drawn."""
    _SHOWN.wait(_PATIENCE)
    for module in ("neural.nplm", "training.loop"):
        import_module(f"neuralgram.{module}")
    _ENGINE.set()
    for folder in folders:
        try:
            models[str(folder)] = load(folder)
        except NeuralgramError as error:
            print(f"neuralgram: {error}", file=sys.stderr, flush=True)
    _LOADED.set()
