"""Notify a person on the desktop, by the bell of a terminal, or by a webhook.

The engine runs this module as a program of its own, below a reaper and within a limit. So a service that does
not answer, or a terminal that takes nothing, delays nothing else. The program reads JSON from standard input,
because a command line would show the address of the webhook. It prints one line for each way: its name and
the result, without the address.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headcount.domain.settings import Notify

_ANSWER_S = 20.0
_NTFY = "ntfy"


def read_ways(table: Notify) -> dict[str, str]:
    """Return what the program needs, for this team: held like its environment, because it may be secret."""
    bell = _terminal() if table.bell else ""
    return {"desktop": "yes" if table.desktop else "", "bell": bell, "webhook": table.webhook}


def _terminal() -> str:
    """Return the path of the terminal that called; "none" without one, so that the journal tells."""
    for fd in (2, 1, 0):
        try:
            return os.ttyname(fd)
        except OSError:
            continue
    return "none"


def main() -> int:
    given = json.load(sys.stdin)
    for way, send in _WAYS.items():
        if given["ways"].get(way):
            try:
                print(way, send(given["ways"][way], given), flush=True)
            except Exception as error:  # one way that fails does not keep the others from being used
                print(way, _failed(error), flush=True)
    return 0


def _failed(error: Exception) -> str:
    """Return the reason without the address, which some exceptions quote."""
    reason = getattr(error, "reason", error)
    told = reason.strerror if isinstance(reason, OSError) and reason.strerror else type(reason).__name__
    return f"failed: {told}"


def _show_on_desktop(_: str, given: Mapping[str, Any]) -> str:
    import shutil
    import subprocess

    program = shutil.which("notify-send")
    if program is None:
        return "failed: notify-send is not installed"
    words = [program, "--app-name=headcount", "--", given["title"], _escape(given["text"])]
    done = subprocess.run(
        words, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ANSWER_S
    )
    return "ok" if done.returncode == 0 else f"failed: exit code {done.returncode}"


def _ring_bell(terminal: str, _: Mapping[str, Any]) -> str:
    """Ring only a terminal of this user. The team may have outlived the one that it was started in."""
    try:
        fd = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return "failed: its terminal is closed"
    try:
        found = os.fstat(fd)
        if not stat.S_ISCHR(found.st_mode) or found.st_uid != os.getuid() or not os.isatty(fd):
            return "failed: its terminal is closed"
        os.write(fd, b"\a")
    finally:
        os.close(fd)
    return "ok"


def _post(address: str, given: Mapping[str, Any]) -> str:
    """Post once. A redirect is not followed: it would send the text to another address."""
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    from urllib.error import HTTPError

    address, topic = _split_topic(address)
    if not address.startswith(("https://", "http://")):
        return "failed: not an address"
    body = {
        "text": f"*{given['title']}*\n{_escape(given['text'])}", "title": given["title"],
        "message": given["text"], **({"topic": topic} if topic else {}), "headcount": given["about"],
    }  # fmt: skip
    data = json.dumps(body).encode()
    request = Request(address, data, {"Content-Type": "application/json", "User-Agent": "headcount"})  # noqa: S310
    try:
        with build_opener(NoRedirect).open(request, timeout=_ANSWER_S) as answer:
            return "ok" if 200 <= answer.status < 300 else f"failed: HTTP {answer.status}"
    except HTTPError as error:
        return f"failed: HTTP {error.code}"


def _split_topic(address: str) -> tuple[str, str]:
    """ntfy takes JSON at its root, with the topic in it: `https://ntfy.sh/TOPIC`, or `…/?topic=TOPIC`."""
    from urllib.parse import parse_qs, urlsplit, urlunsplit

    parts = urlsplit(address)
    topic = parse_qs(parts.query).get("topic", [""])[0]
    one = parts.path.strip("/")
    if (parts.hostname or "").split(".")[0] == _NTFY and one and "/" not in one:
        topic = one
    return (urlunsplit((parts.scheme, parts.netloc, "/", "", "")), topic) if topic else (address, "")


def _escape(text: str) -> str:
    """Slack and desktops read marks such as `<!channel>` in a text; members wrote parts of it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_WAYS: dict[str, Callable[[str, Mapping[str, Any]], str]] = {
    "desktop": _show_on_desktop,
    "bell": _ring_bell,
    "webhook": _post,
}

if __name__ == "__main__":
    sys.exit(main())
