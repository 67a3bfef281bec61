"""A headless Chromium and an explorer to point it at: shared by the browser tests and `make screenshots`."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def chromium() -> str | None:
    """The browser's path, or None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def missing() -> str | None:
    """Why no browser test can run here, or None."""
    if chromium() is None:
        return "no chromium on this machine (Debian: apt-get install chromium)"
    for name, how in (("playwright", "dev"), ("nicegui", "explore")):
        try:
            __import__(name)
        except ImportError:
            return f"{name} is not installed (pip install 'neuralgram[{how}]')"
    return None


@contextmanager
def launched() -> Iterator[Any]:
    """A browser, closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def serving(*models: str, module: str = "neuralgram") -> Iterator[str]:
    """The address of an explorer in a process of its own, stopped as Ctrl-C stops it; `module` has the command."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*_python(), "-m", module, "explore", "--no-browser", "--port", str(port), *models]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    environment.pop("PYTEST_CURRENT_TEST", None)  # to NiceGUI it means that there is no server to start
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        address = f"http://127.0.0.1:{port}/"
        _wait_for(address, process)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        try:
            said, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
    assert "Traceback" not in said, said


def _python() -> list[str]:
    """This Python; under coverage where the tests are."""
    coverage = sys.modules.get("coverage")
    if coverage is None or coverage.Coverage.current() is None:
        return [sys.executable]
    settings = ["--parallel-mode", f"--rcfile={ROOT / 'pyproject.toml'}", f"--data-file={ROOT / '.coverage'}"]
    return [sys.executable, "-m", "coverage", "run", *settings]


def _wait_for(address: str, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the explorer ended: {process.communicate()[0]}")
        try:
            urllib.request.urlopen(address + "favicon.ico", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError("the explorer did not answer within a minute")
