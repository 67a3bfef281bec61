"""`neuralgram explore [MODEL…]`: a local page on which every number of a model can be touched."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("explore")
@click.argument("models", nargs=-1, metavar="[MODEL]...", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others reach 0.0.0.0.")
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True, help="Port to listen on.")
@click.option("--browser/--no-browser", default=True, help="Whether to open the page in a browser.")
def command(models: tuple[Path, ...], host: str, port: int, browser: bool) -> None:
    """Serve the explorer: train on a sample or your own text, look inside, read, write, and work through the lessons.
    MODELs are opened beside the network in training. Stop it with Ctrl-C."""
    from importlib.util import find_spec

    from neuralgram.errors import InputError

    if find_spec("nicegui") is None:
        raise InputError("the explorer needs NiceGUI, which is not installed: pip install 'neuralgram[explore]'")
    from neuralgram.modeldir import is_model, read_story

    for path in models:  # what is no model is refused before the page opens
        if not (path.is_file() and is_model(path)):
            read_story(path)
    _check_free(host, port)
    from neuralgram.serving.explorer.app import serve

    serve(models, host=host, port=port, browser=browser)


def _check_free(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything is loaded for it."""
    import socket

    from neuralgram.errors import InputError

    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise InputError(f"{host}:{port} cannot be listened on ({error.strerror}): choose another --port") from None
