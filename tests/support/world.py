"""A world in memory: processes, workspaces, refs. Its checkers are those that need one (I2, I3, I7, I10).

A **piece** stands for anything that can be lost: a changed file, a stash, a commit. It is safe once it is
committed, or in a salvage ref.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.onlooker import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headcount.ports import Mail
    from tests.support.agents import Temper

FOREIGN = "the user's own shell"


@dataclass(slots=True)
class Workspace:
    loose: set[int] = field(default_factory=set)  # pieces that only the workspace has
    committed: set[int] = field(default_factory=set)
    there: bool = True


class World:
    def __init__(self, tell_exit: Callable[[str], None], story: Callable[[str, str], None]) -> None:
        self._tell_exit = tell_exit
        self._story = story
        self.processes: dict[str, dict[str, str]] = {}  # of each incarnation: name, and what ends it
        self.foreign = {FOREIGN}
        self.started: set[str] = set()
        self.paused: set[str] = set()
        self.workspaces: dict[str, Workspace] = {}
        self.refs: dict[str, set[int]] = {}
        self.pieces = 0
        self.unkillable = False  # while faults last, SIGKILL may find a process in an endless system call

    # --- processes

    def start(self, key: str, temper: Temper) -> bool:
        """By its mark: a repeat finds what the first try started."""
        if key in self.started:
            return False
        self.started.add(key)
        strays = {f"stray {n}": "kill" for n in range(temper.strays)}
        self.processes[key] = {"agent": temper.exits_on, **strays}
        self.workspaces.setdefault(key, Workspace())
        return True

    def runs(self, key: str) -> bool:
        return "agent" in self.processes.get(key, ()) and key not in self.paused

    def agent_alive(self, key: str) -> bool:
        return "agent" in self.processes.get(key, ())

    def empty(self, key: str) -> bool:
        return not self.processes.get(key)

    def end_agent(self, key: str) -> None:
        """It ends by itself."""
        if self.agent_alive(key):
            del self.processes[key]["agent"]
            self._story(key, "exits by itself")
            self._tell_exit(key)

    def signal(self, key: str, how: str) -> None:
        """exit, term or kill. I10: what is signalled is found by its incarnation alone."""
        had_agent = self.agent_alive(key)
        strength = _STRENGTHS.index(how)
        left = {n: e for n, e in self.processes.get(key, {}).items() if _STRENGTHS.index(e) > strength}
        if how == "kill" and self.unkillable and self.processes.get(key):
            left = dict(list(self.processes[key].items())[-1:])
        if how != "exit":
            self.paused.discard(key)
        if key in self.processes:
            self.processes[key] = left
        if had_agent and "agent" not in left:
            self._tell_exit(key)

    # --- work

    def write(self, key: str) -> None:
        space = self.workspaces.get(key)
        if space is None or not self.runs(key):
            return
        if not space.there:
            raise Violation(f"I2: {key} is alive, and its workspace was removed")
        self.pieces += 1
        space.loose.add(self.pieces)
        self._story(key, f"writes piece {self.pieces}")

    def commit_work(self, key: str) -> None:
        space = self.workspaces.get(key)
        if space is not None and self.runs(key) and space.loose:
            self._story(key, "commits its work")
            space.committed |= space.loose
            space.loose = set()

    def head(self, key: str) -> tuple[str, int]:
        """The commit that a workspace is at, and how many are its own."""
        space = self.workspaces.get(key, Workspace())
        commits = sorted(space.committed)
        return f"c{key}-{commits[-1]}" if commits else "c0", len(commits)

    def spotless(self, key: str) -> bool:
        return key not in self.workspaces or not self.workspaces[key].loose

    def salvage(self, key: str) -> tuple[str | None, bool]:
        """The ref that has everything, and whether it is new: a repeat finds what the first try saved."""
        space = self.workspaces.get(key)
        if space is None or not space.loose:
            return None, False
        mine = [ref for ref in self.refs if ref.startswith(f"{key}/")]
        unsaved = space.loose - self._in_refs(key)
        if not unsaved:
            return mine[-1], False
        ref = f"{key}/{len(mine) + 1}"
        self.refs[ref] = set(unsaved)
        return ref, True

    def remove(self, key: str) -> None:
        """I2: nothing goes that is nowhere else, and nothing under a living process."""
        space = self.workspaces.get(key)
        if space is None or not space.there:
            return
        if not self.empty(key):
            raise Violation(
                f"I2: the workspace of {key} is removed while {', '.join(self.processes[key])} is alive"
            )
        if lost := space.loose - self._in_refs(key):
            raise Violation(f"I2: pieces {sorted(lost)} of {key} are lost with its workspace")
        space.there = False
        self._story(key, "its workspace is removed")

    def _in_refs(self, key: str) -> set[int]:
        return {p for ref, pieces in self.refs.items() if ref.startswith(f"{key}/") for p in pieces}

    # --- at the end

    def check_nobody_lives(self) -> None:
        """I3: no team is closed while one of its processes is alive; I10: the user's own are untouched."""
        alive = {key: sorted(tree) for key, tree in self.processes.items() if tree}
        if alive:
            raise Violation(f"I3: the team is closed, and {alive} is alive")
        if self.foreign != {FOREIGN}:
            raise Violation("I10: something that we did not start was ended")

    def check_nothing_is_lost(self) -> None:
        """Every piece that was ever written is in a workspace, on a branch or in a ref."""
        kept = {p for pieces in self.refs.values() for p in pieces}
        for space in self.workspaces.values():
            kept |= space.committed | (space.loose if space.there else set())
        if lost := set(range(1, self.pieces + 1)) - kept:
            raise Violation(f"I2: pieces {sorted(lost)} are lost")


_STRENGTHS = ("exit", "term", "kill")


class Postmen:
    """I7: what was accepted is there at the end, and was read in order from each sender."""

    def __init__(self) -> None:
        self.accepted: list[str] = []
        self._read: dict[tuple[str, str], int] = {}

    def accept(self, mail_id: str) -> None:
        self.accepted.append(mail_id)

    def read(self, box: str, mails: Iterable[Mail], place: dict[str, int]) -> None:
        for mail in mails:
            last = self._read.get((box, mail.sender), -1)
            if place[mail.id] <= last:
                raise Violation(f"I7: {box} reads {mail.subject!r} from {mail.sender} out of order")
            self._read[box, mail.sender] = place[mail.id]

    def check_all_is_there(self, kept: set[str]) -> None:
        if missing := [mail_id for mail_id in self.accepted if mail_id not in kept]:
            raise Violation(f"I7: {len(missing)} accepted messages are gone")
