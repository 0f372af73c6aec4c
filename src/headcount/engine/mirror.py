"""Files for others to read: the witness's state and its log, beside the truth in the journal.

Written after the commit, whole or not at all; if one is lost the next change writes it again.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from headcount.protocol.effects import Note
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.protocol.effects import Effect
    from headcount.protocol.team import Team

_PENDING = (State.INSPECTING, State.NUDGED)


def write_mirror(home: str, team: Team, effects: Iterable[Effect]) -> None:
    """`state.json`: the verifications under way. `verification.log`: a line for each verdict and each end."""
    place = f"{home}/teams/{team.name}/witness"
    os.makedirs(place, mode=0o700, exist_ok=True)
    pending = {
        m.name: _pending(m) for m in team.members.values() if m.live and (m.attempts or m.state in _PENDING)
    }
    write_whole(
        f"{place}/state.json", json.dumps({"pending_verifications": pending}, ensure_ascii=False, indent=1)
    )
    lines = [_line(e) for e in effects if isinstance(e, Note) and e.kind in ("verified_clean", "gone")]
    if lines:
        with open(f"{place}/verification.log", "a", encoding="utf-8") as log:
            log.write("".join(lines))


def write_whole(path: str, text: str) -> None:
    """Write, sync, rename: a reader sees the old file or the new one (C8)."""
    making = f"{path}.{os.getpid()}"
    with open(making, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(making, path)


def _pending(member: Any) -> dict[str, Any]:
    return {
        "issue_id": member.task or "",
        "signaled_at": "",
        "attempts": member.attempts,
        "last_issues": list(member.issues),
    }


def _line(note: Note) -> str:
    name = note.about.partition("#")[0]
    what = (
        f"Verified clean: {name}"
        if note.kind == "verified_clean"
        else f"Gone: {name} ({note.data.get('outcome')})"
    )
    return f"[{time.strftime('%Y-%m-%dT%H:%M:%S+00:00', time.gmtime())}] {what}\n"
