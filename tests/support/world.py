"""The world of a simulated run, seen from outside: what agents do there, and what must hold at the end.

The processes and workspaces are those of the fakes. The checkers are those that need a world (I2, I3, I7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.fake_runtime import FakeMachine
from tests.support.fake_workspaces import FakeRepository
from tests.support.onlooker import Found, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headcount.ports import Mail
    from headcount.protocol.team import Team
    from tests.support.fake_runtime import FakeTree
    from tests.support.fake_workspaces import FakeWorkspace


def mark_of(key: str) -> str:
    return f"demo#1/{key}"


def key_of(tree: FakeTree) -> str:
    return tree.record.mark.rpartition("/")[2]


class World:
    def __init__(
        self, machine: FakeMachine, repository: FakeRepository, story: Callable[[str, str], None]
    ) -> None:
        self._machine = machine
        self._repository = repository
        self._story = story
        self.pieces = 0
        repository.on_remove = self._check_unused

    def tree(self, key: str) -> FakeTree | None:
        return self._machine.trees.get(mark_of(key))

    def runs(self, key: str) -> bool:
        tree = self.tree(key)
        return tree is not None and tree.agent_alive and tree.processes[0].state != "T"

    def end_agent(self, key: str) -> None:
        """It ends by itself."""
        tree = self.tree(key)
        if tree is not None and tree.agent_alive:
            self._story(key, "exits by itself")
            tree.end(tree.processes[0], 0)

    # --- work

    def _workspace(self, key: str) -> FakeWorkspace | None:
        tree = self.tree(key)
        return self._repository.workspaces[tree.cwd] if tree is not None and self.runs(key) else None

    def write(self, key: str) -> None:
        space = self._workspace(key)
        if space is None:
            return
        if not space.there:
            raise Violation(f"I2: {key} is alive, and its workspace was removed")
        self.pieces += 1
        space.loose.add(self.pieces)
        self._story(key, f"writes piece {self.pieces}")

    def commit_work(self, key: str) -> None:
        space = self._workspace(key)
        if space is not None and space.loose and space.value.branch is not None:
            self._story(key, "commits its work")
            space.committed |= space.loose
            space.loose = set()

    def _check_unused(self, path: str) -> None:
        """I2: nothing is removed under a living process."""
        for tree in self._machine.trees.values():
            if tree is not None and tree.cwd == path and tree.alive():
                raise Found(Violation(f"I2: the workspace of {key_of(tree)} is removed while it is alive"))

    # --- at the end

    def check_nobody_lives(self) -> None:
        """I3: no team is closed while one of its processes is alive."""
        alive = [key_of(tree) for tree in self._machine.trees.values() if tree is not None and tree.alive()]
        if alive:
            raise Violation(f"I3: the team is closed, and {', '.join(alive)} is alive")

    def check_nothing_is_lost(self) -> None:
        """I2: every piece that was ever written is in a workspace, on a branch or in a ref."""
        kept = {piece for pieces in self._repository.refs.values() for piece in pieces}
        for space in self._repository.workspaces.values():
            kept |= space.committed | (space.loose if space.there else set())
        if lost := set(range(1, self.pieces + 1)) - kept:
            raise Violation(f"I2: pieces {sorted(lost)} are lost")

    def check_the_hub_has_it(self, team: Team) -> None:
        """I12: every piece is at the hub, but for workspaces that stay and what a person kept here."""
        excused: set[int] = set()
        for space in self._repository.workspaces.values():
            member = team.members.get(f"{space.value.member}#{space.value.generation}")
            if space.there or (member is not None and member.here):
                excused |= space.committed | space.loose
        kept = {piece for pieces in self._repository.hub.values() for piece in pieces}
        if lost := set(range(1, self.pieces + 1)) - kept - excused:
            raise Violation(f"I12: the hub does not have pieces {sorted(lost)}")


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
