from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from weblab import FLAGS, LIMIT_S, WebLab, chromium

from headcount.app.app import open_app
from headcount.app.resident import driving
from tests.support.lab import end_everything, make_repository, set_environment


@pytest.fixture
def idle_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WebLab]:
    """Nobody drives: what is in the store stays as it is."""
    set_environment(tmp_path / "home", monkeypatch)
    place = tmp_path / "repo"
    make_repository(place)
    with ExitStack() as stack:
        app = open_app(str(place), {})
        stack.callback(app.close)
        lab = WebLab(app)
        stack.callback(end_everything, app)
        stack.callback(lab.stop_serving)
        yield lab


@pytest.fixture
def lab(idle_lab: WebLab) -> Iterator[WebLab]:
    with driving(idle_lab.app):
        yield idle_lab
        idle_lab.stop_serving()


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
