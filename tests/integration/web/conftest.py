from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from weblab import FLAGS, LIMIT_S, WebLab, chromium

from headcount.app.adapters import make_runtimes
from headcount.app.app import open_app
from headcount.app.resident import driving


@pytest.fixture
def idle_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WebLab]:
    """Nobody drives: what is in the store stays as it is."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "T")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "t@localhost")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    place = tmp_path / "repo"
    place.mkdir()
    for words in (("init", "--quiet", "-b", "main"), ("commit", "--quiet", "--allow-empty", "-m", "first")):
        subprocess.run(["git", "-C", str(place), *words], check=True)
    with ExitStack() as stack:
        app = open_app(str(place), {})
        stack.callback(app.close)
        lab = WebLab(app)
        stack.callback(_end_everything, lab)
        stack.callback(lab.stop_serving)
        yield lab


@pytest.fixture
def lab(idle_lab: WebLab) -> Iterator[WebLab]:
    with driving(idle_lab.app):
        yield idle_lab
        idle_lab.stop_serving()


def _end_everything(lab: WebLab) -> None:
    """Whatever a failed test left; only what carries a mark of this very state directory."""
    runtime = make_runtimes(lab.app)["plain"]
    for mark in runtime.list_marked():
        runtime.kill(runtime.adopt(mark) or runtime.adopt_by_mark(mark), 5)


# For each module, not for the session: while it is there, no other test could run an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield browser
        browser.close()


expect.set_options(timeout=LIMIT_S * 1000)  # a page's own default does not hold for these


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1240, "height": 860})
    page = context.new_page()
    page.set_default_timeout(LIMIT_S * 1000)
    problems: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # A server that is gone or refuses is what some tests are about; the browser reports each such call.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            problems.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert problems == []
