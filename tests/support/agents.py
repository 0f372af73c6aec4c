"""Simulated agents: what each does with the mail it reads, and how it ends.

An agent is a stranger. It speaks only through the gate that every caller passes (`Run.say`), hears only what
is in its mailbox, and is free to lie, to be late, to contradict itself, or to die.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.domain import templates
from headcount.protocol import events as ev
from headcount.protocol.member import Activity

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.ports import Mail
    from tests.support.simulator import Run


@dataclass(frozen=True, slots=True)
class Temper:
    """A kind of agent."""

    answer: str = "approve"  # approve, reject, done, flap, none
    takes_s: tuple[float, float] = (0.5, 8.0)
    twice: bool = False
    contradicts: bool = False
    for_others: bool = False
    cleans_after: int = 0  # told so often before it cleans up; -1: never
    heeds_nudges: bool = True
    works_on: bool = False  # writes even after it said that it is finished
    exits_on: str = "exit"  # exit, term or kill: the mildest thing that ends it
    strays: int = 0  # processes besides its own, which only SIGKILL ends
    leaves_after_answer: bool = False
    crashes: bool = False
    signals_done: bool = False
    reports_idle: bool = False
    hits_limit: bool = False  # its client's usage limit; until that is over it does nothing
    costly: bool = False


TEMPERS: dict[str, Temper] = {
    "cooperative": Temper(),
    "slow": Temper(takes_s=(20.0, 45.0), exits_on="term"),
    "lying": Temper(answer="done", cleans_after=-1, works_on=True),
    "silent": Temper(answer="none", heeds_nudges=False, cleans_after=-1, exits_on="term"),
    "rejecting": Temper(answer="reject"),
    "flapping": Temper(answer="flap", contradicts=True),
    "crashing": Temper(crashes=True),
    "never exiting": Temper(exits_on="kill"),
    "answering twice": Temper(twice=True),
    "answering for others": Temper(for_others=True),
    "contradicting": Temper(contradicts=True),
    "dirty once": Temper(cleans_after=1, signals_done=True),
    "dirty twice": Temper(cleans_after=2),
    "forking": Temper(strays=2, signals_done=True),
    "leaving": Temper(leaves_after_answer=True),
    "out of context": Temper(answer="none", heeds_nudges=False, cleans_after=-1, exits_on="kill", strays=1),
    "idle": Temper(reports_idle=True),
    "done": Temper(signals_done=True),
    "limited": Temper(hits_limit=True, signals_done=True),
    "costly": Temper(costly=True),
}


class Agent:
    def __init__(self, run: Run, key: str, temper: Temper) -> None:
        self.run = run
        self.key = key
        self.temper = temper
        member = run.team.members[key]
        self.task = member.task
        self.reviews = member.role.endswith("-reviewer")
        self.told = 0  # how often it was told to clean up
        self.asked = 0
        self.spent = 0
        self.held = False  # at its client's usage limit

    def begin(self) -> None:
        """Its work: it writes now and then, and may say that it is done, or idle, or die."""
        rng = self.run.rng
        for _ in range(rng.randint(0, 3)):
            self.run.after(rng.uniform(1, 300), self._write)
        if self.reviews:
            self._soon(self._review)
        if self.temper.signals_done or (self.task and self.temper.answer != "none" and not self.reviews):
            self.run.after(rng.uniform(5, 200), self._finish)
        if self.temper.reports_idle:
            self.run.after(rng.uniform(1, 60), lambda: self._say("idle", ev.IdleReported(self.key)))
            self.run.after(rng.uniform(1, 300), self._begin_turn)
            if not self.task:
                self.run.after(rng.uniform(1, 600), self._claim)
        if self.temper.hits_limit:
            self.run.after(rng.uniform(1, 300), self._hit_limit)
        for _ in range(4 if self.temper.costly else 0):
            self.run.after(rng.uniform(5, 500), self._spend)
        if self.temper.crashes:
            self.run.after(rng.uniform(1, 400), self._crash)
        self.run.after(rng.uniform(5, 30), self._poll)

    def _crash(self) -> None:
        """Its host may still say why."""
        if self.run.rng.random() < 0.5:
            self._client_says(ev.ClientFailed(self.key, "killed by SIGKILL"))
        self.run.world.end_agent(self.key)

    def _poll(self) -> None:
        """Mail is read sooner or later even when no nudge comes through."""
        if self.temper.answer != "none" and self.run.world.runs(self.key):
            self.read_mail()
            self.run.after(self.run.rng.uniform(10, 60), self._poll)

    def _hit_limit(self) -> None:
        """Until a time that nobody promised it ends, and perhaps it never does."""
        self._client_says(ev.Limited(self.key, "usage limit"))
        self.held = True
        if self.run.rng.random() < 0.8:
            self.run.after(self.run.rng.uniform(10, 400), self._over_limit)

    def _over_limit(self) -> None:
        """Said until it is heard: it may hold up others."""
        self.held = False
        self._begin_turn()
        member = self.run.team.members[self.key]
        if member.activity is Activity.LIMITED and self.run.world.runs(self.key):
            self.run.after(self.run.rng.uniform(5, 20), self._over_limit)

    def _begin_turn(self) -> None:
        self._client_says(ev.WorkResumed(self.key))

    def _spend(self) -> None:
        self.spent += self.run.rng.randint(1, 60)
        self._client_says(ev.Spent(self.key, tokens=self.spent, turns=1))

    def _client_says(self, event: ev.Event) -> None:
        if self._works:
            self.run.carry(event)

    @property
    def _works(self) -> bool:
        return self.run.world.runs(self.key) and not self.held

    def nudged(self) -> None:
        """Whoever is out of context, or does not look up, is not reached this way either."""
        if self.temper.answer != "none":
            self._soon(self.read_mail)

    def read_mail(self) -> None:
        if not self._works:
            return
        for mail in self.run.read_inbox(self.key):
            if mail.type == "shutdown_request":
                self._answer(str(mail.request_id))
            elif mail.template == templates.VERIFICATION_FAILED and self.temper.heeds_nudges:
                self.told += 1
                self._soon(self._finish)
            elif mail.subject == "Changes requested":
                self._write()
                self._soon(self._finish)
            elif mail.subject == "Review again":
                self._soon(self._review)
            else:
                self._other(mail)

    def _other(self, mail: Mail) -> None:
        """Idle talk, so that mailboxes hold more than the protocol's own."""
        if mail.sender != self.key and self.run.rng.random() < 0.3:
            self.run.send_mail(self.key, "lead", f"about: {mail.subject}")

    def _answer(self, request_id: str) -> None:
        self.asked += 1
        temper = self.temper
        approve = {"approve": True, "reject": False, "flap": self.asked % 2 == 0}.get(temper.answer)
        if temper.answer == "done":
            self._soon(self._finish)
        elif approve is not None:
            self._soon(lambda: self._give(request_id, approve))
            if temper.twice:
                self._soon(lambda: self._give(request_id, approve))
            if temper.contradicts:
                self._soon(lambda: self._give(request_id, not approve))
        if temper.for_others:
            self._soon(lambda: self._meddle(request_id))

    def _give(self, request_id: str, approve: bool) -> None:
        if self.temper.cleans_after == 0 and approve:
            self.run.world.commit_work(self.key)
        self._say(
            "answer", ev.Answered(self.key, request_id, approve, "" if approve else "in the middle of it")
        )
        if self.temper.works_on:
            self._soon(self._write)
        if self.temper.leaves_after_answer and approve:
            self._soon(lambda: self.run.world.end_agent(self.key))

    def _meddle(self, request_id: str) -> None:
        """Answers for everybody else, and tries to stand the team down (A13, A14, I5)."""
        for key in self.run.team.members:
            if key != self.key:
                self._say("answer", ev.Answered(key, request_id, True))
        self._say("stand_down_team", ev.StandDown("mine"))

    def _finish(self) -> None:
        if 0 <= self.temper.cleans_after <= self.told:
            self.run.world.commit_work(self.key)
        self._say("done", ev.DoneSignalled(self.key))
        if self.temper.works_on:
            self._soon(self._write)

    def _review(self) -> None:
        verdict = "pass" if self.run.rng.random() < 0.7 else "changes"
        commit = self.run.reviewed_commit(self.key)
        self._say("review", ev.Reviewed(self.key, str(self.task), verdict, "call it by its name", commit))

    def _claim(self) -> None:
        if self._works:
            self.run.claim_task(self.key)

    def _write(self) -> None:
        if self._works:
            self.run.world.write(self.key)

    def _say(self, action: str, event: ev.Event) -> None:
        if self._works:
            self.run.say(self.key, action, event)

    def _soon(self, deed: Callable[[], object]) -> None:
        self.run.after(self.run.rng.uniform(*self.temper.takes_s), deed)
