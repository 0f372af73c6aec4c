"""Files for others to read, beside the truth in the journal: `status.json`, and the witness's state and log.

Written after the commit, whole or not at all, and only when something in them changed. One that is lost in a
crash is written again by the next engine: it begins by writing all of them.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from headcount.protocol.completion import status_json
from headcount.protocol.happened import MemberGone, MemberVerified
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.protocol.happened import Happened
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

SIGNALLED = "signalled"  # a fact of an incarnation: when it was last to be inspected
_PENDING = (State.INSPECTING, State.NUDGED, State.ESCALATED)


def archive_path(home: str, team: str, generation: int) -> str:
    return f"{home}/archive/{team}-{generation}"


def log_path(archive: str, key: str) -> str:
    """Where the archive of a closed team has what an incarnation printed."""
    return f"{archive}/logs/{key}"


def team_files(home: str, team: Team) -> str:
    """The directory of a team's files: its own while it is open, in its archive after a complete closing."""
    archived = f"{archive_path(home, team.name, team.generation)}/team"
    return archived if os.path.isdir(archived) else f"{home}/teams/{team.name}"


class Mirror:
    def __init__(self, home: str) -> None:
        self._home = home
        self._written: dict[str, str] = {}

    def show(
        self,
        team: Team,
        happened: Iterable[Happened],
        signalled: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """`happened` is of one commit: each verdict and each end is a line of the log, once."""
        if not os.path.isdir(self._home):
            return  # moved away with its repository, and not to be made anew where it was
        place = team_files(self._home, team)
        os.makedirs(f"{place}/witness", mode=0o700, exist_ok=True)
        waiting = [m for m in team.members.values() if m.state in _PENDING]
        pending = {m.name: _pending(m, signalled.get(m.key, {})) for m in waiting}
        self._write(f"{place}/witness/state.json", {"pending_verifications": pending})
        if team.run is not None:
            self._write(f"{place}/status.json", status_json(team.run))
        lines = [_line(event) for event in happened if isinstance(event, MemberVerified | MemberGone)]
        if lines:
            with open(f"{place}/witness/verification.log", "a", encoding="utf-8") as log:
                log.write("".join(lines))

    def _write(self, path: str, content: Mapping[str, Any]) -> None:
        text = json.dumps(content, ensure_ascii=False, indent=1)
        if self._written.get(path) != text:
            write_whole(path, text)
            self._written[path] = text


def write_whole(path: str, text: str) -> None:
    """Write, sync, rename: a reader sees the old file or the new one (C8)."""
    making = f"{path}.{os.getpid()}"
    with open(making, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(making, path)


def _pending(member: Member, signalled: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "issue_id": member.task or "",
        "signaled_at": signalled.get("at", ""),
        "attempts": member.attempts,
        "last_issues": list(member.issues),
    }


def _line(event: MemberVerified | MemberGone) -> str:
    name = event.key.partition("#")[0]
    what = f"Gone: {name} ({event.outcome})" if isinstance(event, MemberGone) else f"Verified clean: {name}"
    return f"[{time.strftime('%Y-%m-%dT%H:%M:%S+00:00', time.gmtime())}] {what}\n"
