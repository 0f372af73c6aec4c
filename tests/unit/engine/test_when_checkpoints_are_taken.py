"""When the performer takes checkpoints: by its timer, and before some acts. A stand-down waits for none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from headcount.domain.findings import Workspace
from headcount.domain.policy import Policy
from headcount.engine.job import Job
from headcount.engine.performer import Performer
from headcount.errors import GitError
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.member import Member
from headcount.protocol.team import Team

INTERVAL = 60.0


class Lanes:
    """An executor that runs its jobs when the test says so."""

    busy = False

    def __init__(self) -> None:
        self.put_in: list[tuple[str, Callable[[], Any]]] = []
        self._done: list[Any] = []

    def put(self, lane: str, work: Callable[[], Any]) -> None:
        self.put_in.append((lane, work))

    def perform(self) -> None:
        """Everything but acts, which need processes."""
        waiting, self.put_in = self.put_in, []
        for _, work in waiting:
            if cast("Any", work).func.__name__ != "_perform":
                self._done.append(work())

    def finished(self) -> list[Any]:
        done, self._done = self._done, []
        return done


class Taken:
    """Checkpoints that only count; `fails` for a disk that is full."""

    def __init__(self) -> None:
        self.whys: list[tuple[str, str, float]] = []
        self.forgotten: list[str] = []
        self.fails = False

    def take(self, workspace: Workspace, policy: Policy, plan: Any, why: str, limit_s: float) -> None:
        self.whys.append((workspace.member, why, limit_s))
        if self.fails:
            raise GitError("Did not", "no space left", code="git-failed")

    def forget(self, workspace: Workspace) -> None:
        self.forgotten.append(workspace.member)


class Stage:
    def __init__(self, *members: Member, interval: float = INTERVAL) -> None:
        self.now = 0.0
        self.lanes, self.taken = Lanes(), Taken()
        self.team = Team("crew", members={m.key: m for m in members})
        self.policy = replace(Policy(), checkpoint_s=interval)
        watch = SimpleNamespace(
            ends=list, hold=None, drop=lambda team, key: None, held=lambda team, key: None
        )
        self.world = cast("Any", SimpleNamespace(
            home="/nowhere", files=None, executor=self.lanes, checkpoints=self.taken
        ))  # fmt: skip
        self.performer = Performer(self.world, cast("Any", watch), lambda: self.now)

    def begin(self, kind: ActKind, about: str, **more: Any) -> None:
        member = self.team.members.get(about)
        start = {"mark": about} if member else {}
        place = Workspace("crew", about, 1, f"/{about}").as_dict() if member else None
        act = Act(kind, about, 0, more)
        self.performer.begin(
            Job(act, self.team, self.policy, self.world, member, start=start, workspace=place)
        )

    def after(self, seconds: float) -> list[tuple[str, str]]:
        """Let time pass and perform what is due; who got a checkpoint, and why."""
        self.now += seconds
        for _ in range(4):
            self.performer.poll()
            self.lanes.perform()
        self.performer.poll()
        whys, self.taken.whys = self.taken.whys, []
        return [(who, why) for who, why, _ in whys]


def test_the_timer_takes_one_each_interval_and_none_of_the_gone() -> None:
    stage = Stage(Member("ada", 1), Member("ben", 1))
    for key in stage.team.members:
        stage.begin(ActKind.START, key)
    assert stage.after(30) == []
    assert stage.performer.next_due == INTERVAL
    assert sorted(stage.after(30)) == [("ada#1", "timer"), ("ben#1", "timer")]
    assert stage.after(30) == []
    stage.performer.drop(stage.team, "ada#1")
    assert stage.taken.forgotten == ["ada#1"]
    assert stage.after(30) == [("ben#1", "timer")]


def test_an_interval_of_zero_takes_none() -> None:
    stage = Stage(Member("ada", 1), interval=0)
    for kind in (ActKind.START, ActKind.NUDGE, ActKind.PAUSE, ActKind.SALVAGE):
        stage.begin(kind, "ada#1")
    assert stage.after(1000) == []
    assert stage.performer.next_due is None


def test_two_at_once_are_under_way_and_the_others_follow() -> None:
    stage = Stage(*(Member(f"m{n}", 1) for n in range(5)))
    for key in stage.team.members:
        stage.begin(ActKind.START, key)
    stage.lanes.put_in.clear()
    stage.now = INTERVAL
    stage.performer.poll()
    assert len(stage.lanes.put_in) == 2
    assert stage.performer.next_due is None  # the end of one wakes the engine
    assert len(stage.after(0)) == 5


def test_a_nudge_a_pause_and_a_merge_come_after_a_checkpoint_in_their_lane() -> None:
    stage = Stage(Member("ada", 1, task="t1"), Member("ben", 1, task="t2"))
    for key in stage.team.members:
        stage.begin(ActKind.START, key)
    stage.lanes.put_in.clear()
    for kind, about in ((ActKind.NUDGE, "ada#1"), (ActKind.PAUSE, "ada#1"), (ActKind.MERGE, "t1")):
        stage.begin(kind, about)
        (before, _), (act, _) = stage.lanes.put_in[-2:]
        assert before == act
    stage.lanes.perform()
    assert [(who, why) for who, why, _ in stage.taken.whys] == [
        ("ada#1", "before a nudge"), ("ada#1", "before a pause"), ("ada#1", "before a merge")
    ]  # fmt: skip
    assert {limit for _, _, limit in stage.taken.whys} == {10.0}


def test_a_stand_down_makes_one_due_and_waits_for_none() -> None:
    asked = Member("ada", 1, request="r1")
    for kind in (ActKind.NUDGE, ActKind.INSPECT, ActKind.SALVAGE, ActKind.ASK_EXIT):
        stage = Stage(asked)
        stage.begin(ActKind.START, "ada#1")
        stage.lanes.put_in.clear()
        stage.begin(kind, "ada#1")
        assert len(stage.lanes.put_in) == 1, "only the act"
        assert [who for who, _ in stage.after(0)] == ["ada#1"], kind


def test_a_failure_changes_nothing_and_the_next_one_follows() -> None:
    stage = Stage(Member("ada", 1))
    stage.begin(ActKind.START, "ada#1")
    stage.taken.fails = True
    assert len(stage.after(INTERVAL)) == 1
    assert len(stage.after(INTERVAL)) == 1
