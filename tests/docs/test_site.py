"""The site builds without a warning, loads nothing from elsewhere, and its search finds guides first."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from .pages import DOCS, ROOT

_FETCHED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]+\"")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


# The search is in a shadow tree: the first link in it that carries the words to highlight.
_FIRST = """([word, where]) => {
  const links = root => [...root.querySelectorAll("*")].flatMap(e =>
    [...(e.shadowRoot ? links(e.shadowRoot) : []), ...(e.tagName === "A" ? [e] : [])]);
  const found = links(document).find(a => a.href && new URL(a.href).searchParams.get("h") === word);
  return found && new URL(found.href).pathname.startsWith(where);
}"""


def _search(page: Page, words: str, where: str) -> None:
    """Wait until a page in `where` is the first result. Results of other words may be there before."""
    page.keyboard.press("Control+a")
    page.keyboard.type(words)
    page.wait_for_function(_FIRST, arg=[words, where], timeout=60_000)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as a maintainer builds it. A warning fails the build."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "scripts/build_site.py"), str(place)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert built.returncode == 0, built.stdout + built.stderr
    return place


def test_the_site_has_every_page_and_names_no_other_host_to_load_from(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md"))) - 1
    for page in pages:
        assert not _FETCHED.search(page.read_text()), page


def test_the_site_in_a_browser_loads_nothing_from_elsewhere_and_finds_guides_first(site: Path) -> None:
    """A browser asks this server alone, by its address. Tables are not cut: a wide one scrolls."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as tools:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_port}/"
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{origin}reference/settings.html")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        page.set_viewport_size({"width": 1300, "height": 900})
        page.goto(f"{origin}index.html")
        page.locator(".md-search__button:visible").click()
        for word in ("checkpoint", "escalation", "salvage"):
            _search(page, word, "/how-to/")
        _search(page, "no-checkpoint", "/reference/errors.html")
        browser.close()
        server.shutdown()
    assert [url for url in asked if not url.startswith((origin, "data:", "blob:"))] == []
