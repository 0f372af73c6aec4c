"""Read what a member did as a transcript: the lines of a known client in words, other output as it is."""

from __future__ import annotations

import glob
import os
import time
from collections import deque
from typing import TYPE_CHECKING

from headcount.agents.activity import TEST_SUMS, Transcript
from headcount.agents.registry import CLIENTS
from headcount.app.members import find_member, read_output
from headcount.runtime.log import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.app.app import App
    from headcount.protocol.member import Member

_LOOK_S = 0.2
_TESTS = 5
_WIDTH = 200


def read_transcript(app: App, name: str, team: str | None = None, *, follow: bool = False) -> Iterator[str]:
    """Yield what a member did, from the oldest output that is kept; with `follow`, until it is gone.

    With `follow` it yields an empty text whenever there is nothing new, so that the caller can end it.
    The screen of a client in a terminal is not a transcript, so its record of the conversation is read.
    """
    app.check("logs")
    team_name, member, start = find_member(app, name, team)
    client = CLIENTS.get(str(start.get("agent")))
    if client is None:
        yield from read_output(app, name, team, follow=follow)
        return
    if start.get("runtime") == "tmux" and client.record is not None:
        lines = _read_record(app, team_name, member, client.record.files, follow)
        transcript = Transcript(client.record.read)
    else:
        lines = _split(read_output(app, name, team, follow=follow))
        transcript = Transcript(client.read_line)
    for line in lines:
        yield from map(_escape, transcript.render(line)) if line else ("",)
    yield from transcript.close()


def read_test_results(app: App, name: str, team: str | None = None) -> list[str]:
    """Return the last lines of a transcript that sum up a run of tests, such as "2 failed, 5 passed"."""
    found: deque[str] = deque(maxlen=_TESTS)
    for text in read_transcript(app, name, team):
        found.extend(line.strip()[:_WIDTH] for line in text.split("\n") if TEST_SUMS.search(line))
    return list(found)


def _escape(text: str) -> str:
    return plain_text(text.encode(errors="replace"))


def _split(output: Iterator[str]) -> Iterator[str]:
    """Yield whole lines: what is read of a line that is just being written waits for its end."""
    rest = ""
    for text in output:
        *lines, rest = (rest + text).split("\n")
        yield from (f"{line}\n" for line in lines) if text else ("",)
    if rest:
        yield rest


def _read_record(app: App, team_name: str, member: Member, files: str, follow: bool) -> Iterator[str]:
    """Yield the lines of the record, of each file in order, and new ones as they are written."""
    ends: dict[str, int] = {}
    while True:
        with app.store.read() as tx:
            team = app.load(tx, team_name)
            archived = (tx.fact(team.id, "", "archive") or {}).get("path")
        gone = team.members[member.key].settled
        own = f"clients/{member.key.replace('#', '-')}"
        places = [f"{app.home}/teams/{team_name}/{own}", f"{archived}/team/{own}"]
        directory = next((place for place in places if os.path.isdir(place)), "")
        found = sorted(glob.glob(files, root_dir=directory, recursive=True)) if directory else []
        for name in found:
            yield from _read_new(f"{directory}/{name}", name, ends)
        if not follow or gone:
            return
        yield ""
        time.sleep(_LOOK_S)


def _read_new(path: str, name: str, ends: dict[str, int]) -> list[str]:
    try:
        with open(path, "rb") as file:
            file.seek(ends.get(name, 0))
            whole, newline, _ = file.read().rpartition(b"\n")
    except OSError:
        return []
    ends[name] = ends.get(name, 0) + len(whole) + len(newline)
    return [f"{line}\n" for line in whole.decode(errors="replace").split("\n")] if whole else []
