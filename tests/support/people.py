"""The people of a simulated run: they ask twice, force, pause, and decide escalations, all at the same
time, without waiting for each other. When faults are over one of them brings everybody home.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.protocol import events as ev
from headcount.protocol.team import DECISIONS, Status
from tests.support.onlooker import Violation

if TYPE_CHECKING:
    from tests.support.plan import Deed
    from tests.support.simulator import Run

_ROUNDS = 12
_AT_REST = (Status.ACTIVE, Status.ESCALATED, Status.STUCK, Status.SHUTDOWN)


class People:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._requests = 0
        self._known: set[str] = set()  # escalations that somebody thinks about already

    def begin(self) -> None:
        run = self._run
        run_itself = [c for c in run.plan.cast if not run.plan.tasks or c.role != "worker"]
        for cast in run_itself:
            spawn = ev.Spawn(cast.name, cast.role, awaits_review=cast.reviewed)
            run.after(run.rng.uniform(0, 3), lambda spawn=spawn: run.commit(spawn))  # type: ignore[misc]
            run.after(run.rng.uniform(4, 300), lambda to=cast.name: run.send_mail("operator", to, "news"))  # type: ignore[misc]
        for deed in run.plan.deeds:
            run.after(deed.at, lambda deed=deed: self._do(deed))  # type: ignore[misc]

    def _do(self, deed: Deed) -> None:
        if deed.what == "set":
            self._run.change_policy()
            return
        event = self._event(deed)
        if event is not None:
            self._run.tell("operator", f"{deed.what} {deed.who}".strip())
            self._run.commit(event)

    def _event(self, deed: Deed) -> ev.Event | None:
        member = self._run.team.latest(deed.who)
        match deed.what:
            case "down" | "force":
                return self._down(force=deed.what == "force")
            case "spawn":
                return ev.Spawn(deed.who)
        if member is None:
            return None
        match deed.what:
            case "down_member" | "force_member":
                self._requests += 1
                return ev.StandDown(f"r{self._requests}", (deed.who,), force=deed.what == "force_member")
            case "cycle":
                self._requests += 1
                return ev.StandDown(f"r{self._requests}", (deed.who,), cycling=True)
            case "pause":
                return ev.Paused(member.key)
            case "resume":
                return ev.Resumed(member.key)
            case "release":
                return ev.Released(member.key)
            case _:
                return ev.ChangesRequested(member.key, "name it well")

    def _down(self, force: bool = False) -> ev.Event:
        self._requests += 1
        return ev.StandDown(f"r{self._requests}", force=force, now=force and self._requests % 2 == 0)

    def look(self) -> None:
        """Somebody sees each escalation sooner or later, and decides or does not."""
        run = self._run
        for escalation_id in run.team.escalations:
            if escalation_id not in self._known:
                self._known.add(escalation_id)
                if run.faulty and run.rng.random() < 0.7:
                    run.after(run.rng.uniform(1, 300), lambda e=escalation_id: self._decide(e))  # type: ignore[misc]

    def _decide(self, escalation_id: str) -> None:
        about = self._run.team.escalations.get(escalation_id)
        usual = [name for name in sorted(DECISIONS) if name != "keep-here"]
        decision = "keep-here" if about is not None and about.here else self._run.rng.choice(usual)
        self._run.tell("lead", f"decides {escalation_id}: {decision}")
        self._run.commit(ev.Decided(escalation_id, decision, by="lead"))

    # --- faults are off

    def bring_home(self, bound: float) -> None:
        """Ask, and decide what is open, until the team is closed; each time it rests in time (I8)."""
        run = self._run
        for round_ in range(_ROUNDS):
            self._push(force=round_ > 0)
            self._wait_for_rest(bound)
            if run.team.status is Status.SHUTDOWN:
                return
        raise Violation(f"I8: still {run.team.status} after {_ROUNDS} rounds of asking and deciding")

    def _push(self, force: bool) -> None:
        run = self._run
        for escalation in run.team.escalations.values():
            if escalation.state in ("open", "parked"):
                run.tell("operator", f"decides {escalation.id}: force-kill")
                run.commit(ev.Decided(escalation.id, "force-kill"))
        run.tell("operator", "asks everybody" + (" with force" if force else ""))
        run.commit(self._down(force))

    def _wait_for_rest(self, bound: float) -> None:
        run = self._run
        until = run.now + bound
        while run.team.status not in _AT_REST and run.now < until:
            if not run.go_until(min(until, run.now + 5.0)):
                break
            run.now = min(until, run.now + 5.0) if run.team.status not in _AT_REST else run.now
        if run.team.status not in _AT_REST:
            raise Violation(f"I8: {run.team.status} {bound:.0f} s after the last request, which is the bound")
