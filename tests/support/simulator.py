"""One simulated run: the rules, the commit path and the clock are the real ones, all else is faked.

A priority queue of actions on virtual time. The engine commits through `engine.apply` on SQLite in memory,
keeps its limits on `engine.clock`, and performs acts in lanes; it can crash after any commit and in the
middle of any act, and then starts again from what is durable. Checkers look at every step. After a while
faults end and somebody goes on asking and deciding: then everything must end, in time.

Same seed, same trace: nothing here reads a clock, an address or the order of a set.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from headcount.app.tasks import claim_task
from headcount.engine.apply import apply
from headcount.engine.clock import Clock
from headcount.engine.delivery import deliver
from headcount.engine.writing import write_ready
from headcount.errors import HeadcountError
from headcount.ports import Mail, Task
from headcount.protocol import authority
from headcount.protocol import events as ev
from headcount.protocol.bound import bound_s
from headcount.protocol.effects import Act, ActKind, Post, Ready
from headcount.protocol.phase_events import PhaseEvent
from headcount.protocol.team import Status
from tests.support import tasks
from tests.support.agents import TEMPERS, Agent
from tests.support.invariants import OVER_HISTORIES, I4_the_next_task_waits, check
from tests.support.onlooker import Seen, Step, Violation, remember
from tests.support.people import People
from tests.support.performer import perform
from tests.support.plan import FAULTS_UNTIL_S, Plan, draw_plan
from tests.support.reused_store import give_back, take_store
from tests.support.window import watched
from tests.support.world import Postmen, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.store.sqlite import SqliteTx

_TIMELESS = (ActKind.NOTIFY, ActKind.CLOSE_STEP, ActKind.MERGE, ActKind.ASK_REVIEW, ActKind.RUN_GATE)


class Line(NamedTuple):
    at: float
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.at:8.1f} s  {self.who:12} {self.what}"


class Run:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rng = random.Random(plan.seed * 2 + 1)
        self.now = 0.0
        self.wall_jump = 0.0
        self.story: list[Line] = []
        self.commits = 0
        self.steps = 0
        self.heard: set[str] = set()  # the kinds of events
        self.faulty = True
        self.world = World(self._tell_exit, self.tell)
        self.agents: dict[str, Agent] = {}
        self.postmen = Postmen()
        self.store = take_store(lambda: 1e9 + self.now + self.wall_jump)
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = 0
        self._counts: Counter[str] = Counter()
        self._faults = Counter((f.what, f.kind, f.nth) for f in plan.faults if not f.at)
        self._seen: dict[str, Seen] = {}
        self._act_ids: set[str] = set()
        self._words = 0  # how many were said
        self._newest = 0  # the last said of those that were accepted
        self._to_write: list[Callable[[SqliteTx], object]] = []
        self._boot()
        with self.store.write() as tx:
            self.team = tx.create_team("demo", "", {})
            for n in range(0 if plan.tasks else 3):
                tx.add_task(Task(f"t{n}", self.team.id, f"task {n}"))
        self.people = People(self)
        if plan.tasks:
            with watched() as steps:
                tasks.open_run(self)
            for taken in steps:
                self._check(taken)

    # --- time

    def after(self, seconds: float, deed: Callable[[], object]) -> None:
        self._numbers += 1
        heapq.heappush(self._queue, (self.now + seconds, self._numbers, deed))

    def go_until(self, end: float) -> bool:
        """Do what is due until `end`; False when nothing is left to come."""
        while self._queue and self._queue[0][0] <= end:
            self.now, _, deed = heapq.heappop(self._queue)
            deed()
            if self.team.status is Status.SHUTDOWN:
                break
        return bool(self._queue)

    def tell(self, who: str, what: str) -> None:
        self.story.append(Line(self.now, who, what))

    def _fault(self, what: str, kind: str = "") -> bool:
        """Does this one, counted by its kind, go wrong?"""
        count = self._counts[what + kind]
        self._counts[what + kind] += 1
        return self.faulty and (what, kind, count) in self._faults

    # --- the engine

    def _boot(self) -> None:
        self.up = True
        self.clock = Clock(now=lambda: self.now)
        self._under_way: dict[str, Act] = {}
        self._lanes: dict[str, float] = {}
        self._tick_at = float("inf")
        self._life = object()

    def crash(self) -> None:
        """Whatever was under way may have been done; nobody will ever know from the engine."""
        if not (self.up and self.faulty):
            return
        self.tell("engine", "crashes")
        self.up = False
        self._life = object()
        for act in self._under_way.values():
            if self.rng.random() < 0.5:
                perform(self, act, fails=False)
        self.after(self.rng.uniform(0.1, 60), self.restart)

    def restart(self) -> None:
        if self.up:
            return
        self._boot()
        self.tell("engine", "starts again")
        for member in self.team.live():
            died = member.key in self.world.started and not self.world.agent_alive(member.key)
            if died and not member.exited:
                self._tell_exit(member.key)
        self.commit()

    def commit(self, *events: ev.Event | PhaseEvent, act: Act | None = None) -> None:
        """One transaction, as the engine makes it; then the new acts are begun."""
        if not self.up:
            return
        with watched() as steps, self.store.write() as tx:
            if act is not None:
                tx.end_act(self.team.id, act.id)
            self._write_down(tx)
            applied = apply(tx, self.team, events, self.plan.policy, tasks.make_start)
            pending = tx.pending_acts(self.team.id)
        self.team = applied.team
        for taken in steps:
            self._check(taken)
        self.commits += 1
        if self._fault("crash_commit"):
            self.crash()
            return
        self.clock.watch(self.team, self.plan.policy)
        self._begin(pending)
        self._set_tick()
        self.people.look()

    def _check(self, taken: Step) -> None:
        self.steps += 1
        self.heard.add(type(taken.event).__name__)
        self._seen = remember(self._seen, taken)
        self._narrate(taken.ready)
        check(taken, self._seen, OVER_HISTORIES)
        for act in taken.acts:
            if act.id in self._act_ids:
                raise Violation(f"two acts have the id {act.id}: the second would never be performed")
            self._act_ids.add(act.id)
        for problem in (
            I4_the_next_task_waits(taken, self._seen, self.plan.policy.tasks_at_once)
            if self.plan.tasks
            else ()
        ):
            raise Violation(f"I4_the_next_task_waits: {problem}")

    def keep_fact(self, about: str, name: str, value: dict[str, object]) -> None:
        """What an act found, written with its result."""
        self._to_write.append(lambda tx: tx.put_fact(self.team.id, about, name, value))

    def reviewed_commit(self, key: str) -> str:
        with self.store.read() as tx:
            return str((tx.fact(self.team.id, key, "reviewing") or {}).get("commit", ""))

    def post(self, post: Post) -> None:
        self._to_write.append(lambda tx: write_ready(tx, self.team, Ready(mail=(post,))))

    def _write_down(self, tx: SqliteTx) -> None:
        for write in self._to_write:
            write(tx)
        self._to_write.clear()

    def _narrate(self, ready: Ready) -> None:
        for note in ready.entries:
            data = " ".join(f"{k}={v}" for k, v in note.data.items())
            self.tell(note.about or "team", f"{note.kind} {data}".strip())
        for post in ready.mail:
            self.tell(post.to, f"gets mail: {post.subject}")

    def _begin(self, pending: list[Act]) -> None:
        for act in pending:
            if act.id in self._under_way:
                continue
            if self._superseded(act):
                with self.store.write() as tx:
                    tx.end_act(self.team.id, act.id)
                continue
            self._under_way[act.id] = act
            takes = self.rng.uniform(0.05, 2.0) + (400.0 if self._fault("delay", act.kind) else 0.0)
            lane = f"{act.about}/nudge" if act.kind is ActKind.NUDGE else act.about
            begins = max(self.now, self._lanes.get(lane, 0.0))
            self._lanes[lane] = begins + takes
            life = self._life
            self.after(begins + takes - self.now, lambda act=act, life=life: self._finish(act, life))  # type: ignore[misc]

    def _superseded(self, act: Act) -> bool:
        if act.kind is ActKind.CLOSE_STEP:
            return act.epoch != self.team.close_epoch
        return act.kind not in _TIMELESS and self.team.members[act.about].epoch != act.epoch

    def _finish(self, act: Act, life: object) -> None:
        if life is not self._life:
            return
        fails = self._fault("fail", act.kind)
        self.tell(act.about or "team", f"{act.kind}{' fails' if fails else ''}")
        events = perform(self, act, fails)
        if self._fault("double", act.kind):  # its result was lost, it is done again, and then heard of twice
            events = perform(self, act, fails=False) * 2
        self._under_way.pop(act.id, None)
        self.commit(*events, act=act)

    def _set_tick(self) -> None:
        wait = self.clock.seconds_to_next()
        if wait is not None and self.now + wait < self._tick_at:
            self._tick_at = self.now + wait
            life = self._life
            self.after(wait, lambda: self._tick(life))

    def _tick(self, life: object) -> None:
        if life is not self._life:
            return
        self._tick_at = float("inf")
        due = [timeout for _, timeout in self.clock.take_due()]
        if due:
            self.commit(*due)
        else:
            self._set_tick()

    def _tell_exit(self, key: str) -> None:
        """The runtime saw it end; an engine that is down will find out when it starts."""
        life = self._life
        self.after(0.01, lambda: self._saw_exit(key) if life is self._life else None)

    def _saw_exit(self, key: str) -> None:
        proof = (ev.TreeEmpty(key, "keeper"),) if self.world.empty(key) else ()
        self.commit(ev.Exited(key, "exit 0"), *proof)

    # --- members

    def start_agent(self, key: str) -> None:
        name = key.rpartition("#")[0]
        temper = next((c.temper for c in self.plan.cast if c.name == name), "cooperative")
        if self.world.start(key, TEMPERS[temper]):
            self.agents[key] = Agent(self, key, TEMPERS[temper])
            self.agents[key].begin()

    def say(self, caller: str, action: str, event: ev.Event) -> None:
        """The gate: whoever speaks is known by its token, and the one table says what it may."""
        role = self.team.members[caller].role
        try:
            authority.check(action, authority.CALLER_OF_ROLE[role], caller)
        except HeadcountError:
            self.tell(caller, f"is refused: {action}")
            return
        if getattr(event, "key", caller) != caller:
            self.tell(caller, "is refused: it speaks for another")
            return
        self.carry(event)

    def say_verdict(self, key: str) -> None:
        if self.rng.random() < 0.8:
            self.carry(ev.Judged(key, self.rng.random() < 0.5))

    def carry(self, event: ev.Event) -> None:
        """Before it is accepted a word may be lost; it may come late, after later ones, and twice."""
        name = type(event).__name__
        if self._fault("lose_word"):
            self.tell("mail", f"loses {name}")
            return
        self._words += 1
        number, late = self._words, self.rng.uniform(0, 0.5)
        if self._fault("late_word"):
            self.tell("mail", f"delays {name}")
            late = self.rng.uniform(20, 200)
        self.after(late, lambda: self._accept(event, number))
        if self._fault("double_word"):
            self.tell("mail", f"doubles {name}")
            self.after(self.rng.uniform(0, 100), lambda: self._accept(event, number))

    def _accept(self, event: ev.Event, number: int) -> None:
        if number < self._newest:
            self.tell("mail", f"brings {type(event).__name__} after what was said later")
        self._newest = max(self._newest, number)
        try:
            with self.store.write() as tx:
                tx.add_input(self.team.id, event)
        except HeadcountError as refusal:
            self.tell("store", refusal.what)
            return
        self.commit()

    def claim_task(self, key: str) -> None:
        role = self.team.members[key].role
        try:
            authority.check("task_claim", authority.CALLER_OF_ROLE[role], key)
            with self.store.write() as tx:
                card = tx.team_card(self.team.id)
                assert card is not None
                claim_task(tx, card, key)
        except HeadcountError as refusal:
            self.tell(key, f"may not claim: {refusal.what}")
            return
        self.commit()

    def send_mail(self, sender: str, to: str, subject: str) -> None:
        try:
            with self.store.write() as tx:
                self.postmen.accept(deliver(tx, Mail("", self.team.id, sender, to, subject, "words"))[0])
        except HeadcountError as refusal:
            self.tell(sender, refusal.what)

    def read_inbox(self, box: str) -> list[Mail]:
        with self.store.write() as tx:
            mails = tx.inbox(self.team.id, (box,), unread=True)
            tx.mark_read(self.team.id, [m.id for m in mails])
            everything = tx.inbox(self.team.id, None) if mails else []
        if mails:
            self.postmen.read(box, mails, {mail.id: n for n, mail in enumerate(everything)})
        return mails

    # --- from the first to the last

    def play(self) -> None:
        for fault in self.plan.faults:
            if fault.what == "crash" and fault.at:
                self.after(fault.at, self.crash)
            elif fault.what == "clock":
                self.after(fault.at, self._jump)
        self.people.begin()
        self.commit()
        self.go_until(FAULTS_UNTIL_S)
        self.faulty = False
        if self.team.status is not Status.SHUTDOWN:
            self.tell("world", "nothing goes wrong any more")
            self.restart()
            self.go_until(
                max(self._lanes.values(), default=0.0)
            )  # what hangs in a lane comes to its end first
            self.people.bring_home(bound_s(self.plan.policy, len(self.team.members)))
        if self.plan.tasks:
            tasks.check_phase(self)
        self.world.check_nobody_lives()
        self.world.check_nothing_is_lost()
        with self.store.read() as tx:
            self.postmen.check_all_is_there({mail.id for mail in tx.inbox(self.team.id, None)})
        give_back(self.store)

    def _jump(self) -> None:
        self.wall_jump += self.rng.choice((-86400.0, -3600.0, 3600.0, 86400.0))
        self.tell("clock", "jumps")


def simulate(seed: int) -> Run:
    """Play the run of a seed; a failure carries its story."""
    return play(draw_plan(seed, random.Random(seed)))


def play(plan: Plan) -> Run:
    run = Run(plan)
    try:
        run.play()
    except Exception as problem:
        raise Failure(run, problem) from problem
    return run


class Failure(AssertionError):
    """A run in which something did not hold, told as a story."""

    def __init__(self, run: Run, problem: Exception) -> None:
        name = "" if isinstance(problem, Violation) else f"{type(problem).__name__}: "
        super().__init__(f"{name}{problem}")
        self.run = run

    @property
    def what(self) -> str:
        """Which invariant, without whom it hit: shrinking keeps to the same one."""
        return str(self).partition(":")[0]

    def tell(self) -> str:
        story = "\n".join(map(str, self.run.story))
        return f"seed {self.run.plan.seed}\n{self.run.plan}\n\n{story}\n\n{self}"
