"""Files of a team that other programs read: `status.json`, and the witness's state and log.

The journal has the truth. The performer writes the files after the commit, atomically, when their content
changed. A file that a crash prevented is written by the next engine, which begins by writing all of them.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from headcount.protocol.completion import status_json
from headcount.protocol.happened import MemberGone, MemberVerified
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.ports import Files
    from headcount.protocol.happened import Happened
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

_PENDING = (State.INSPECTING, State.NUDGED, State.ESCALATED)


def archive_path(home: str, team: str, generation: int) -> str:
    return f"{home}/archive/{team}-{generation}"


def log_path(archive: str, key: str) -> str:
    """Where the archive of a closed team has what an incarnation printed."""
    return f"{archive}/logs/{key}"


def team_files(files: Files, home: str, team: Team) -> str:
    """The directory of a team's files: its own while it is open, in its archive after a complete closing."""
    archived = f"{archive_path(home, team.name, team.generation)}/team"
    return archived if files.is_directory(archived) else f"{home}/teams/{team.name}"


def waits_for_verdict(team: Team) -> bool:
    return any(member.state in _PENDING for member in team.members.values())


class StateFiles:
    def __init__(self, home: str, files: Files) -> None:
        self._home = home
        self._files = files
        self._written: dict[str, Mapping[str, Any]] = {}

    def write(
        self,
        team: Team,
        happened: Iterable[Happened],
        signalled: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Write what changed. `happened` is of one commit: each verdict and each end is logged once."""
        if not self._files.is_directory(self._home):
            return  # it was moved away with its repository, and must not appear again where it was
        place = team_files(self._files, self._home, team)
        waiting = [m for m in team.members.values() if m.state in _PENDING]
        pending = {m.name: _pending(m, signalled.get(m.key, {})) for m in waiting}
        self._write(f"{place}/witness/state.json", {"pending_verifications": pending})
        if team.run is not None:
            self._write(f"{place}/status.json", status_json(team.run))
        lines = [_line(event) for event in happened if isinstance(event, MemberVerified | MemberGone)]
        if lines:
            self._files.append(f"{place}/witness/verification.log", "".join(lines).encode())

    def _write(self, path: str, content: Mapping[str, Any]) -> None:
        if self._written.get(path) != content:
            text = json.dumps(content, ensure_ascii=False, indent=1)
            self._files.write(path, text.encode(errors="surrogatepass"))
            self._written[path] = content


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
