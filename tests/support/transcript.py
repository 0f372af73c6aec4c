"""Transcripts: a stand-down as a story that the rules tell themselves.

A transcript is a text of commands and outcomes:

    down
    ----
    web#1    running → asked (request)
    web#1    mail: Shutdown requested
    web#1    do: nudge
    team     pending_shutdown

`tell` plays the commands and writes the outcomes; a test compares. Every step is checked against all
invariants on the way. `#` begins a comment; a transcript begins with one that says what it shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.domain.policy import Policy
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Note, Post, Ready
from headcount.protocol.team import CLOSE_STEPS, Team
from headcount.protocol.team_step import step_team
from tests.support.invariants import OVER_HISTORIES, check
from tests.support.onlooker import Seen, Step, remember

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headcount.protocol.member import Member

_SEPARATOR = "----"


def tell(text: str) -> str:
    """The same transcript with its outcomes as they are now."""
    story = Story()
    blocks = [_play(story, block) for block in text.strip().split("\n\n")]
    return "\n\n".join(blocks) + "\n"


def _play(story: Story, block: str) -> str:
    commands = block.split(f"\n{_SEPARATOR}")[0]
    lines = [line for line in commands.split("\n") if not line.startswith("#")]
    if not lines:
        return commands
    outcome = "\n".join(found for line in lines for found in story.do(line))
    return f"{commands}\n{_SEPARATOR}\n{outcome or 'nothing happens'}"


class Story:
    def __init__(self) -> None:
        self.team = Team("demo")
        self.policy = Policy()
        self._seen: dict[str, Seen] = {}
        self._epochs: dict[tuple[str, ActKind], int] = {}
        self._requests = 0

    def do(self, line: str) -> Iterator[str]:
        verb, *words = line.split()
        if verb == "policy":
            self.policy = replace(self.policy, **dict(_setting(word) for word in words))
            yield f"policy   {' '.join(words)}"
        elif verb == "status":
            yield from self._status()
        elif verb == "close":
            for _ in CLOSE_STEPS:
                yield from self._hear(self._step_ended("ok"))
        else:
            yield from self._hear(_VERBS[verb](self, *words))

    def _hear(self, event: ev.Event) -> Iterator[str]:
        before = self.team
        self.team, ready = step_team(before, event, self.policy)
        taken = Step(before, event, self.team, ready)
        self._seen = remember(self._seen, taken)
        self._epochs |= {(act.about, act.kind): act.epoch for act in taken.acts}
        check(taken, self._seen, OVER_HISTORIES)
        yield from _describe(ready)
        if self.team.status is not before.status:
            yield f"{'team':8} {self.team.status}"

    def _status(self) -> Iterator[str]:
        yield f"{'team':8} {self.team.status}"
        for member in self.team.members.values():
            shown = [str(member.state)]
            if member.state == "running" and member.activity != "working":
                shown = [member.activity]
            for name in ("answer", "outcome", "escalation", "request"):
                if getattr(member, name) and not (name == "request" and member.settled):
                    shown.append(f"{name}={getattr(member, name)}")
            shown += ["stuck"] * member.stuck
            yield f"{member.key:8} {' '.join(shown)}"

    # --- commands

    def _member(self, who: str) -> Member:
        key = who if "#" in who else f"{who}#{self.team.generations.get(who, 1)}"
        return self.team.members[key]

    def _next_request(self) -> str:
        self._requests += 1
        return f"r{self._requests}"

    def _spawn(self, name: str, *words: str) -> ev.Event:
        role = next((w.partition("=")[2] for w in words if w.startswith("role=")), "worker")
        return ev.Spawn(name, role, awaits_review="reviewed" in words)

    def _down(self, *words: str) -> ev.Event:
        names = tuple(w for w in words if w not in ("force", "keep"))
        return ev.StandDown(self._next_request(), names or None, "", "force" in words, "keep" in words)

    def _approve(self, who: str, request: str = "") -> ev.Event:
        key, ask = self._address(who)
        return ev.Answered(key, request or ask, True)

    def _reject(self, who: str, *reason: str) -> ev.Event:
        key, ask = self._address(who)
        return ev.Answered(key, ask, False, " ".join(reason))

    def _address(self, who: str) -> tuple[str, str]:
        """Whoever answers names the request that it read; a stranger names the one that is open."""
        key = who if "#" in who else f"{who}#{self.team.generations.get(who, 1)}"
        member = self.team.members.get(key)
        return key, str(member.ask) if member and member.ask else f"r{self._requests}"

    def _inspected(self, who: str, how: str, *issue: str) -> ev.Event:
        clean = {"spotless": True, "clean": True, "dirty": False}.get(how)
        issues = (" ".join(issue),) if issue else ()
        return self._result(ev.Inspected, ActKind.INSPECT, who, how == "spotless", clean, issues)

    def _timeout(self, who: str) -> ev.Event:
        if who == "team":
            return ev.TimedOut(None, self.team.close_epoch)
        return ev.TimedOut(self._member(who).key, self._member(who).epoch)

    def _step_ended(self, how: str) -> ev.Event:
        return ev.StepEnded(
            str(self.team.close_step), self.team.close_epoch, how == "ok", "" if how == "ok" else how
        )

    def _result(self, cls: Callable[..., ev.Event], kind: ActKind, who: str, *more: Any) -> ev.Event:
        """As a performer reports: with the epoch of the act that it performed, however old that is by now."""
        key = self._member(who).key
        return cls(key, self._epochs.get((key, kind), 0), *more)

    def _about(self, cls: Callable[..., ev.Event], who: str, *more: Any) -> ev.Event:
        return cls(self._member(who).key, *more)


_VERBS: dict[str, Callable[..., ev.Event]] = {
    "spawn": Story._spawn,
    "down": Story._down,
    "approve": Story._approve,
    "reject": Story._reject,
    "inspected": Story._inspected,
    "timeout": Story._timeout,
    "step": Story._step_ended,
    "decide": lambda s, e, decision, by="lead": ev.Decided(e, decision, by),
    "registered": lambda s, who: s._about(ev.Registered, who),
    "start-failed": lambda s, who, *why: s._about(ev.StartFailed, who, " ".join(why)),
    "done": lambda s, who: s._about(ev.DoneSignalled, who),
    "idle": lambda s, who: s._about(ev.IdleReported, who),
    "claim": lambda s, who, task: s._about(ev.TaskClaimed, who, task),
    "limited": lambda s, who: s._about(ev.Limited, who, "usage limit"),
    "resumed-work": lambda s, who: s._about(ev.WorkResumed, who),
    "spent": lambda s, who, tokens: s._about(ev.Spent, who, int(tokens)),
    "judged": lambda s, who, how: s._about(ev.Judged, who, how == "clean"),
    "exited": lambda s, who: s._about(ev.Exited, who),
    "empty": lambda s, who: s._about(ev.TreeEmpty, who, "keeper"),
    "released": lambda s, who: s._about(ev.Released, who),
    "changes": lambda s, who, *text: s._about(ev.ChangesRequested, who, " ".join(text)),
    "refused": lambda s, who, *why: s._about(ev.RefusedForGood, who, " ".join(why)),
    "pause": lambda s, who: s._about(ev.Paused, who),
    "resume": lambda s, who: s._about(ev.Resumed, who),
    "saved": lambda s, who, ref=None: s._result(ev.Saved, ActKind.SALVAGE, who, ref),
    "salvage-failed": lambda s, who, *why: s._result(ev.SalvageFailed, ActKind.SALVAGE, who, " ".join(why)),
    "hub-failed": lambda s, who, *why: s._result(ev.SalvageFailed, ActKind.SALVAGE, who, " ".join(why), True),
    "not-empty": lambda s, who, *alive: s._result(ev.NotEmpty, ActKind.KILL, who, alive),
    "last-read": lambda s, who, ref=None: s._result(ev.LastRead, ActKind.LAST_READ, who, True, ref),
    "last-read-failed": lambda s, who, *why: s._result(
        ev.LastRead, ActKind.LAST_READ, who, False, None, " ".join(why)
    ),
}


def _setting(word: str) -> tuple[str, Any]:
    name, _, value = word.partition("=")
    return name, int(value) if value.isdigit() else value


def _describe(ready: Ready) -> Iterator[str]:
    """In the order in which the parts become safe."""
    yield from map(_entry, ready.entries)
    yield from map(_mail, ready.mail)
    yield from (f"{key:8} sealed, its tasks given back" for key in ready.sealed)
    yield from map(_act, ready.acts)


def _entry(note: Note) -> str:
    if note.kind == "moved":
        return _moved(note)
    data = ", ".join(f"{k}={_plain(v)}" for k, v in note.data.items() if v not in ("", [], None))
    return f"{note.about or 'team':8} {note.kind.replace('_', ' ')}{': ' if data else ''}{data}"


def _mail(post: Post) -> str:
    mark = post.template or post.request_id
    return f"{post.to:8} mail: {post.subject}" + (f" ({mark})" if mark else "")


def _act(act: Act) -> str:
    more = f" {act.data['step']}" if "step" in act.data else ""
    return f"{act.about or 'team':8} do: {act.kind}{more}"


def _moved(note: Note) -> str:
    before, after, trigger = note.data["from"], note.data["to"], note.data["cue"]
    way = f"{before} → {after}" if before != after else f"{after}"
    return f"{note.about:8} {way} ({str(trigger).replace('_', ' ')})"


def _plain(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return str(value)
