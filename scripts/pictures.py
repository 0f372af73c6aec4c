"""The pictures of the docs, from a real day: agents as real processes, in a real browser and a real terminal.

    python scripts/pictures.py [DIRECTORY]        default: docs/pictures

Takes the page with work on its desk, a diff, a transcript and the decisions of a stand-down: light, and some
dark and as wide as a phone. Besides, the watch and the report. Needs chromium, tmux and the package's
`test` extra. What is on a picture happened while it was made.
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


BEFORE = '''"""Count the words of a text."""


def count(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in text.split():
        found[word] = found.get(word, 0) + 1
    return found
'''
AFTER = '''"""Count the words of a text, in any language."""

import re
from collections import Counter

WORD = re.compile(r"[^\\W\\d_]+", re.UNICODE)  # letters only


def count(text: str, *, fold: bool = True) -> Counter[str]:
    """Return how often each word is there; `fold` ignores its case."""
    words = WORD.findall(text.casefold() if fold else text)
    return Counter(words)


def most_common(text: str, number: int = 10) -> list[tuple[str, int]]:
    return count(text).most_common(number)
'''
TESTS = """from counter import count, most_common


def test_case_is_ignored() -> None:
    assert count("One one ONE") == {"one": 3}


def test_empty() -> None:
    assert most_common("") == []
"""
ASK = (
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "permission_prompt", '
    '"arguments": {"tool_name": "Bash", "input": {"command": "pip install regex"}}}}'
)


def write(path: str, text: str) -> dict[str, Any]:
    return {"do": "write", "path": path, "text": text}


def commit(message: str) -> dict[str, Any]:
    return {"do": "commit", "message": message}


def say(text: str) -> dict[str, Any]:
    return {"do": "print", "text": text}


def work(path: str, *after: dict[str, Any], on: dict[str, Any] | None = None) -> dict[str, Any]:
    """A script that commits a file, then does `after`."""
    return {"steps": [write(path, f"# {path}\n"), commit(f"Add {path}"), *after], "on": on or {}}


LISTEN = {"do": "listen"}
QUESTION = {
    "do": "send", "to": "operator", "subject": "Should words with a hyphen be one word?",
    "body": "well-known is two words now. The tests of the old program count it as one.",
}  # fmt: skip
SCRIPTS: dict[str, Any] = {
    "parser": {"steps": [
        write("counter.py", AFTER), commit("Count words in any language"),
        write("test_counter.py", TESTS), commit("Test empty texts and case"),
        write("notes.md", "hyphens?\n"), QUESTION, say("running pytest: 2 failed, 11 passed"), LISTEN,
    ], "on": TIDY_UP},
    "report": work("report.py", write("notes.md", "empty\n"), say("editing report.py"), LISTEN, on=TIDY_UP),
    "index": work(
        "index.py",
        write("index.py", "INDEX = {'half': 'done'}\n"),
        {"do": "stash", "message": "half an index"},
        write("index.py", "INDEX = {'better': 'idea'}\n"),
        write("todo.txt", "nobody has seen this yet\n"),
        {"do": "stray"},
        say("searching for an inverted index"),
        {"do": "ignore", "signals": ["SIGTERM"]},
        {"do": "hang"},
    ),
    "search": work("search.py", {"do": "idle"}, LISTEN),
    "bench": work("bench.py", write("results.csv", "1,2\n"), say("running python bench.py"), {"do": "hang"}),
    "docs": work(
        "guide.md",
        say("installing what the guide needs"),
        {"do": "run", "command": ["sh", "-c", f"(echo '{ASK}'; sleep 300) | headcount mcp > /dev/null &"]},
        LISTEN,
    ),
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
            ("add", "counter.py"),
            ("commit", "-q", "-m", "Count words"),
        ):
            (self.root / "counter.py").write_text(BEFORE)
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
        for subject in ("Count words in any language", "Write the guide", "An index of all words"):
            self.run("task", "create", "--team", TEAM, subject)

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
def watching(place: Place, socket: str) -> Iterator[Callable[..., str]]:
    """`headcount status --watch` in a terminal; yields what it shows after these keys, with its colours."""

    def tmux(*words: str) -> str:
        command = ["tmux", "-S", socket, "-f", os.devnull, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    script = f"cd {place.root}; exec {' '.join(place.command('status', TEAM, '--watch'))}"
    tmux("new-session", "-d", "-x", "120", "-y", "20", "-s", "w", "sh", "-c", script)

    def show(*keys: str) -> str:
        if keys:
            tmux("send-keys", "-t", "w", *keys)
            time.sleep(2)
        return tmux("capture-pane", "-p", "-e", "-t", "w")

    try:
        yield show
    finally:
        tmux("kill-server")


def as_html(shown: str) -> str:
    """The few escapes that the watch uses, as spans. A terminal adds one to those before it."""
    parts, style = [], {"weight": "", "colour": ""}
    for piece in re.split(r"(\x1b\[[\d;]*m)", shown.rstrip()):
        if not piece.startswith("\x1b["):
            parts.append(f'<span class="{style["weight"]} {style["colour"]}">{html.escape(piece)}</span>')
            continue
        for number in piece[2:-1].split(";"):
            if number in ("", "0"):
                style = {"weight": "", "colour": ""}
            elif number == "39":
                style["colour"] = ""
            elif number in COLOURS:
                style["colour" if len(number) > 1 else "weight"] = COLOURS[number]
    return WINDOW.format(text="".join(parts))


# --- taking them -----------------------------------------------------------------------------------------


def open_page(browser: Browser, url: str, width: int, height: int, scheme: Any = "light") -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(url)
    return page


def take(place: Place, browser: Browser, target: Path) -> None:
    place.start()
    place.wait(lambda now: all(m["state"] == "running" for m in now["members"]))
    place.wait(lambda now: now["asks"] and now["questions"])
    socket = str(place.root / ".tmux")
    with serving(place) as url, watching(place, socket) as shown:
        page = open_page(browser, url, 1440, 900)
        phone = open_page(browser, url, 390, 844)

        def picture(name: str, of: Page = page, scheme: Any = "light") -> None:
            of.emulate_media(color_scheme=scheme)
            of.screenshot(path=target / f"{name}.png")

        def terminal(name: str, *keys: str) -> None:
            window = browser.new_page()
            window.set_content(as_html(shown(*keys)))
            window.locator("body").screenshot(path=target / f"{name}.png")

        page.wait_for_selector("#desk article >> nth=1")
        page.get_by_role("tab", name="Tasks").click()
        time.sleep(8)  # so that their work has been counted
        picture("page")
        picture("page-dark", scheme="dark")
        picture("phone", phone)
        terminal("terminal")
        terminal("terminal-diff", "Enter", "3")
        shown("Escape")
        for each, name in ((page, "diff"), (phone, "phone-diff")):
            each.locator("#rows").get_by_role("button", name="parser").click()
            each.get_by_role("tab", name="Diff").click()
            each.wait_for_selector(".lines .plus >> nth=3")
            picture(name, each)
        picture("diff-dark", scheme="dark")
        page.get_by_role("tab", name="Transcript").click()
        page.wait_for_selector(".transcript:not(:empty)")
        picture("transcript")
        for each in (page, phone):
            each.keyboard.press("Escape")
        place.run("down", TEAM, "--reason", "Work complete", "--no-wait")
        place.wait(lambda now: len(now["escalations"]) == 2)
        page.wait_for_selector("#desk details")
        page.locator("#desk summary").click()
        time.sleep(1)
        picture("decisions")
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
