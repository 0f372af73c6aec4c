"""The pictures of the README, from a real run: six agents as real processes, stood down, in a real browser.

    python scripts/pictures.py [DIRECTORY]        default: docs/pictures

Needs chromium, tmux and the package's `test` extra. What is on a picture happened while it was made.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

TEAM = "word-count"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SETTINGS = """\
[policy]
answer_timeout_s = 4
nudge_timeout_s = 3
exit_grace_s = 1
stop_grace_s = 2
"""
TIDY_UP: dict[str, Any] = {
    "shutdown_request": [{"do": "sleep", "seconds": 1.5}, {"do": "approve"}],
    "VERIFICATION_FAILED": [
        {"do": "sleep", "seconds": 1.5},
        {"do": "commit", "message": "Keep what was left"},
        {"do": "done"},
    ],
}


def work(path: str, *after: dict[str, Any], on: dict[str, Any] | None = None) -> dict[str, Any]:
    """A script that commits a file, then does `after`."""
    steps = [
        {"do": "write", "path": path, "text": f"# {path}\n"},
        {"do": "commit", "message": f"Add {path}"},
        *after,
    ]
    return {"steps": steps, "on": on or {}}


LISTEN = {"do": "listen"}
READY = {"do": "send", "to": "lead", "subject": "Parser ready", "body": "See parser.py"}
NOTES = {"do": "write", "path": "notes.md", "text": "empty input\n"}
SCRIPTS = {
    "parser": work("parser.py", READY, LISTEN),
    "report": work("report.py", NOTES, LISTEN, on=TIDY_UP),
    "index": work(
        "index.py",
        {"do": "write", "path": "index.py", "text": "INDEX = {'half': 'done'}\n"},
        {"do": "stash", "message": "half an index"},
        {"do": "write", "path": "index.py", "text": "INDEX = {'better': 'idea'}\n"},
        {"do": "write", "path": "todo.txt", "text": "nobody has seen this yet\n"},
        {"do": "stray"},
        {"do": "ignore", "signals": ["SIGTERM"]},
        {"do": "hang"},
    ),
    "search": work("search.py", {"do": "idle"}, LISTEN),
    "bench": work("bench.py", {"do": "write", "path": "results.csv", "text": "1,2\n"}, {"do": "hang"}),
    "docs": work("guide.md", {"do": "print", "text": "writing the guide"}, LISTEN),
}  # fmt: skip


class Place:
    """A scratch repository, and `headcount` in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        who = {
            f"GIT_{r}_{k}": v
            for r in ("AUTHOR", "COMMITTER")
            for k, v in (("NAME", "me"), ("EMAIL", "me@localhost"))
        }
        self.env = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}

    def prepare(self) -> None:
        for words in (
            ("init", "-q", "-b", "main"),
            ("commit", "-q", "--allow-empty", "-m", "An empty start"),
        ):
            subprocess.run(["git", "-C", str(self.root), *words], check=True, env=self.env)
        (self.root / "headcount.toml").write_text(SETTINGS)
        for name, script in SCRIPTS.items():
            (self.root / f"{name}.json").write_text(json.dumps(script))

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "headcount", *words]

    def run(self, *words: str) -> str:
        return subprocess.run(
            self.command(*words), cwd=self.root, env=self.env, check=True, capture_output=True, text=True
        ).stdout

    def start(self) -> None:
        from headcount.app.app import open_app
        from headcount.app.member_start import Plan
        from headcount.app.resident import ensure_driven
        from headcount.app.teams import create_team, spawn

        app = open_app(str(self.root), {})
        create_team(app, TEAM, "Six who build a word counter", environ=self.env)
        ensure_driven(app)
        for name in SCRIPTS:
            agent = (sys.executable, "-m", "headcount.agents.scripted", str(self.root / f"{name}.json"))
            spawn(app, TEAM, Plan(name, command=agent, prompt=f"Build the {name} of a word counter."))
        app.close()

    def leave_nobody(self) -> None:
        subprocess.run(
            self.command("down", TEAM, "--force"), cwd=self.root, env=self.env, capture_output=True
        )

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("status", TEAM, "--json"))[0]
        return found

    def wait(self, holds: Callable[[dict[str, Any]], bool], limit_s: float = 60) -> None:
        deadline = time.monotonic() + limit_s
        while not holds(self.status()):
            if time.monotonic() > deadline:
                raise SystemExit(f"It did not come to that: {self.status()}")
            time.sleep(0.2)


@contextmanager
def serving(place: Place) -> Iterator[str]:
    server = subprocess.Popen(
        place.command("serve", "--json"), cwd=place.root, env=place.env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.terminate()
        server.wait()


# --- the terminal ----------------------------------------------------------------------------------------

COLOURS = {"1": "b", "2": "dim", "31": "red", "32": "green", "33": "yellow"}
WINDOW = """<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 18px; background: #dfe3e8; width: max-content; }}
pre {{ margin: 0; padding: 16px 18px; border-radius: 10px; background: #14181c; color: #e6e9ec;
  font: 14px/1.45 "DejaVu Sans Mono", monospace; }}
.b {{ font-weight: bold; }} .dim {{ color: #8d98a3; }} .red {{ color: #ff8a80; }}
.green {{ color: #6fd09c; }} .yellow {{ color: #f0c25e; }}
</style><pre>{text}</pre>"""


@contextmanager
def watching(place: Place, socket: str) -> Iterator[Callable[[], str]]:
    """`headcount status --watch` in a terminal; yields what it shows, with its colours."""

    def tmux(*words: str) -> str:
        command = ["tmux", "-S", socket, "-f", os.devnull, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    script = f"cd {place.root}; exec {' '.join(place.command('status', TEAM, '--watch'))}"
    tmux("new-session", "-d", "-x", "104", "-y", "15", "-s", "w", "sh", "-c", script)
    try:
        yield lambda: tmux("capture-pane", "-p", "-e", "-t", "w")
    finally:
        tmux("kill-server")


def as_html(shown: str) -> str:
    """The few escapes that the watch uses, as spans."""
    parts, is_open = [], False
    for piece in re.split(r"(\x1b\[[\d;]*m)", shown.rstrip()):
        if piece.startswith("\x1b["):
            parts.append("</span>" if is_open else "")
            names = [COLOURS[number] for number in piece[2:-1].split(";") if number in COLOURS]
            is_open = bool(names)
            parts.append(f'<span class="{" ".join(names)}">' if is_open else "")
        else:
            parts.append(html.escape(piece))
    return WINDOW.format(text="".join(parts) + ("</span>" if is_open else ""))


# --- taking them -----------------------------------------------------------------------------------------


def open_page(browser: Browser, url: str, width: int, height: int, scheme: Any = "light") -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(url)
    return page


def take(place: Place, browser: Browser, target: Path) -> None:
    place.start()
    place.wait(lambda now: all(m["state"] == "running" for m in now["members"]))
    time.sleep(4)  # so that there is something to see of their work
    socket = str(place.root / ".tmux")
    with serving(place) as url, watching(place, socket) as shown:
        page = open_page(browser, url, 1200, 840)
        page.wait_for_selector("#rows button.name")
        place.run("down", TEAM, "--reason", "Work complete", "--no-wait")
        place.wait(lambda now: len(now["escalations"]) == 2)
        page.wait_for_selector(".escalation >> nth=1")
        time.sleep(1)
        page.screenshot(path=target / "page.png")
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=target / "page-dark.png")
        terminal = browser.new_page()
        terminal.set_content(as_html(shown()))
        terminal.locator("body").screenshot(path=target / "terminal.png")
    for escalation in place.status()["escalations"]:
        place.run("decide", escalation, "force-kill", "--team", TEAM)
    place.wait(lambda now: now["status"] == "shutdown")
    place.run("report", TEAM, "-o", "report.html")
    report = open_page(browser, f"file://{place.root}/report.html", 1120, 760)
    report.screenshot(path=target / "report.png")


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    target.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or "chromium"
    with (
        tempfile.TemporaryDirectory(prefix="hc-", ignore_cleanup_errors=True) as root,
        sync_playwright() as playwright,
    ):
        place = Place(Path(root))
        place.prepare()
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        try:
            take(place, browser, target)
        finally:
            place.leave_nobody()
        browser.close()
    for picture in sorted(target.glob("*.png")):
        print(f"{picture}: {picture.stat().st_size // 1000} KB")


if __name__ == "__main__":
    main()
