"""Performs acts in the simulated world, as the engine's performers do in the real one: each may fail, take
too long, or be done twice, and after a crash nobody knows whether it was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind
from tests.support import tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.protocol.phase_events import PhaseEvent
    from tests.support.simulator import Run


def perform(run: Run, act: Act, fails: bool) -> tuple[ev.Event | PhaseEvent, ...]:
    """What the world reports about it; nothing for acts that have no result of their own."""
    return _PERFORM[act.kind](run, act, fails)


def _start(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    if fails and act.about not in run.world.started:
        return (ev.StartFailed(act.about, "no such command"),)
    run.start_agent(act.about)
    return (ev.Registered(act.about),)


def _inspect(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    if fails:
        return (ev.Inspected(act.about, act.epoch, False, False, ("the workspace could not be read",)),)
    spotless = run.world.spotless(act.about)
    head, commits = run.world.head(act.about)
    member = run.team.members[act.about]
    witness = any(m.role == "witness" and m.live for m in run.team.members.values())
    asks_witness = run.plan.policy.judge == "witness" and witness and member.role not in ("lead", "witness")
    clean = None if asks_witness and not spotless else spotless
    if clean is None:
        run.after(run.rng.uniform(1, 90), lambda: run.say_verdict(act.about))
    issues = () if spotless else ("a file is changed",)
    return (ev.Inspected(act.about, act.epoch, spotless, clean, issues, head, commits),)


def _salvage(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    if fails:
        return (ev.SalvageFailed(act.about, act.epoch, "no space left"),)
    ref, _ = run.world.salvage(act.about)
    return (ev.Saved(act.about, act.epoch, ref),)


def _last_read(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    if fails:
        return (ev.LastRead(act.about, act.epoch, False, reason="no space left"),)
    ref, created = run.world.salvage(act.about)
    return (ev.LastRead(act.about, act.epoch, True, ref if created else None),)


def _signal(how: str) -> Callable[[Run, Act, bool], tuple[ev.Event, ...]]:
    def deed(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
        run.world.unkillable = fails and how == "kill"
        run.world.signal(act.about, how)
        run.world.unkillable = False
        if run.world.empty(act.about):
            return (ev.TreeEmpty(act.about, "keeper"),)
        if how == "kill":
            return (ev.NotEmpty(act.about, act.epoch, tuple(sorted(run.world.processes[act.about]))),)
        return ()

    return deed


def _nudge(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    """Typed in front of the agent, which then reads its mail; the mail is there also if that fails."""
    if not fails and act.about in run.agents:
        run.agents[act.about].nudged()
    return ()


def _pause(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    if run.world.agent_alive(act.about):
        run.world.paused.add(act.about)
    return ()


def _resume(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    run.world.paused.discard(act.about)
    return ()


def _close_step(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    step = str(act.data["step"])
    if fails:
        return (ev.StepEnded(step, act.epoch, False, "busy"),)
    if step == "workspaces":
        for member in run.team.members.values():
            if not member.unread:  # what could not be read for the last time stays
                run.world.remove(member.key)
    if step == "tombstone":
        run.world.check_nobody_lives()
    return (ev.StepEnded(step, act.epoch, True),)


def _nothing(run: Run, act: Act, fails: bool) -> tuple[ev.Event, ...]:
    return ()


_PERFORM: dict[ActKind, Callable[[Run, Act, bool], tuple[ev.Event | PhaseEvent, ...]]] = {
    ActKind.START: _start,
    ActKind.NUDGE: _nudge,
    ActKind.INSPECT: _inspect,
    ActKind.CAPTURE: _nothing,
    ActKind.SALVAGE: _salvage,
    ActKind.ASK_EXIT: _signal("exit"),
    ActKind.TERMINATE: _signal("term"),
    ActKind.KILL: _signal("kill"),
    ActKind.PAUSE: _pause,
    ActKind.RESUME: _resume,
    ActKind.LAST_READ: _last_read,
    ActKind.CLOSE_STEP: _close_step,
    ActKind.NOTIFY: _nothing,
    ActKind.MERGE: tasks.merge,
    ActKind.ASK_REVIEW: tasks.ask_review,
    ActKind.RUN_GATE: tasks.run_gate,
}
