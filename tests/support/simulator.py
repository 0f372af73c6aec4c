"""One simulated run: the real rules, store, driver and performer; all that they meet is faked.

A priority queue of actions on virtual time. The engine is the product's own driver and performer
(`engines.py`), on SQLite in memory and on fakes that pass the conformance suites. It can crash before and
after any commit, between any two calls of an adapter, and with acts under way. It can lose its lease to a
second engine. Checkers look at every step, at every act that begins, and regularly at what was left undone.
After a while faults end and an operator asks and decides: then everything must end, in time.

Same seed, same trace: nothing here reads a clock, an address or the order of a set.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.judge import judge
from headcount.app.tasks import claim_task
from headcount.engine.apply import apply
from headcount.engine.delivery import deliver
from headcount.errors import HeadcountError, StoreError
from headcount.ports import Mail, Task
from headcount.protocol import authority
from headcount.protocol import events as ev
from headcount.protocol.bound import bound_s
from headcount.protocol.effects import ActKind, Ready
from headcount.protocol.member import Activity, State
from headcount.protocol.team import Status
from tests.support import tasks
from tests.support.agents import TEMPERS, Agent, Temper
from tests.support.engines import HOME, Crashed, SimulatedEngine
from tests.support.fake_adapters import FakeCommands, FakeFiles
from tests.support.fake_runtime import FakeMachine, FakeTree
from tests.support.fake_workspaces import FakeRepository
from tests.support.invariants import OVER_HISTORIES, I4_the_next_task_waits, check
from tests.support.onlooker import Found, Seen, Step, Violation, remember
from tests.support.people import People
from tests.support.plan import FAULTS_UNTIL_S, Plan, draw_plan
from tests.support.reused_store import give_back, take_store
from tests.support.window import watched
from tests.support.world import Postmen, World, key_of, mark_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headcount.domain.findings import Findings, Verdict
    from headcount.domain.policy import Policy
    from headcount.protocol.member import Member
    from headcount.protocol.phase_events import PhaseEvent
    from headcount.protocol.team import Team
    from tests.support.reused_store import Watched

# The calls of adapters that a failing act fails in.
_FAILING_CALLS = frozenset(
    (
        "start",
        "create",
        "read",
        "salvage",
        "kill",
        "nudge",
        "merge",
        "run",
        "remove",
        "write directory",
        "push",
    )
)
_LOOK_EVERY_S = 10.0
_UNDONE_S = 65.0  # longer than the longest wait before a retry, 60 s
_RING_LOST_S = 10.0
# What the operator sets for an open team, and to which values.
_SETTABLE: dict[str, tuple[Any, ...]] = {
    "answer_timeout_s": (1.0, 120.0),
    "nudge_timeout_s": (1.0, 600.0),
    "stop_grace_s": (0.5, 60.0),
    "max_attempts": (1, 5),
    "max_waits": (0, 3),
    "on_escalation": ("ask", "force-kill"),
    "tasks_at_once": (1, 3),
    "max_members": (1, 64),
}
_SPINS = 1000


class Line(NamedTuple):
    at: float
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.at:8.1f} s  {self.who:12} {self.what}"


class Run:
    engine: SimulatedEngine  # the one that holds the lease, or that crashed last

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.policy = plan.policy  # as people have changed it
        self.most_at_once = plan.policy.tasks_at_once
        self.rng = random.Random(plan.seed * 2 + 1)
        self.now = 0.0
        self.wall_jump = 0.0
        self.story: list[Line] = []
        self.commits = 0
        self.steps = 0
        self.applied: set[str] = set()  # the kinds of events
        self.faulty = True
        self.agents: dict[str, Agent] = {}
        self.postmen = Postmen()
        self.machine = FakeMachine(
            now=self.clock, on_end=self._see_end, on_start=self._start_agent, on_nudge=self._nudge_agent,
            on_call=self._call,
        )  # fmt: skip
        self.repository = FakeRepository(on_call=self._call)
        self.world = World(self.machine, self.repository, self.tell)
        self.commands = FakeCommands(self._call)
        self.files = FakeFiles(HOME, self._call)
        self.pending: dict[str, ActKind] = {}  # durable acts that have not ended
        self.pending_idle: dict[str, float] = {}  # since when no worker performs one that is pending
        self._acting: SimulatedEngine | None = None
        self._failing = False
        self._unwatched: dict[str, float] = {}  # since when an end, or a frozen tree, was left unnoticed
        self._look_at = 0.0
        self._spins = 0
        self._mailboxes: set[str] = set()  # that may have unread mail
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = 0
        self._counts: Counter[str] = Counter()
        self._faults = Counter((f.what, f.kind, f.nth) for f in plan.faults if not f.at)
        self._steps: list[Step] = []
        self._seen: dict[str, Seen] = {}
        self._act_ids: set[str] = set()
        self._words = 0  # how many were said
        self._newest = 0  # the last said of those that were accepted
        self.store = take_store(self)
        self.people = People(self)
        self._fault_free = True
        with self.store.write() as tx:
            self.team = tx.create_team("demo", "", {"hub": "hub"} if self.has_hub else {})
            for n in range(0 if plan.tasks else 3):
                tx.add_task(Task(f"t{n}", self.team.id, f"task {n}"))
        self._fault_free = False

    # --- time

    def clock(self) -> float:
        return self.now

    def clock_time(self) -> float:
        return 1e9 + self.now + self.wall_jump

    def after(self, seconds: float, deed: Callable[[], object]) -> None:
        self._numbers += 1
        heapq.heappush(self._queue, (self.now + seconds, self._numbers, deed))

    def go_until(self, end: float) -> bool:
        """Do what is due until `end`; False when nothing is left to come."""
        while self._queue and self._queue[0][0] <= end:
            at, _, deed = heapq.heappop(self._queue)
            self._spins = self._spins + 1 if at == self.now else 0
            if self._spins > _SPINS:
                raise Violation("spins: the engine does the same again and again, and time stands still")
            self.now = at
            deed()
            if self.team.status is Status.SHUTDOWN:
                break
            if self.now >= self._look_at:
                self._look_at = self.now + _LOOK_EVERY_S
                self._check_nothing_is_left_undone()
        return bool(self._queue)

    def tell(self, who: str, what: str) -> None:
        self.story.append(Line(self.now, who, what))

    def fault(self, what: str, kind: str = "") -> bool:
        """Does this one, counted by its kind, go wrong?"""
        name = what + kind
        count = self._counts[name]
        self._counts[name] = count + 1
        return self.faulty and (what, kind, count) in self._faults

    # --- the engine

    @contextmanager
    def acting(self, engine: SimulatedEngine, failing: bool = False) -> Iterator[None]:
        """In here the engine's own code runs: its writes and its calls of adapters may go wrong."""
        before, self._acting, self._failing = self._acting, engine, failing
        try:
            yield
        finally:
            self._acting, self._failing = before, False

    def _call(self, name: str) -> bool:
        """Before each call of an adapter: whether it fails. A crash here is one in the middle of an act."""
        engine = self._acting
        if engine is None:
            return False
        if not engine.alive:
            raise Crashed  # what `finally` wants to do, no process does any more
        if self.fault("crash_call"):
            engine.alive = False
            raise Crashed
        if name == "salvage" and self.has_hub and self.rng.random() < 0.3:
            return False  # it fails at the hub instead
        return self._failing and name in _FAILING_CALLS and (name != "create" or self.rng.random() < 0.3)

    @property
    def has_hub(self) -> bool:
        return self.plan.seed % 2 == 0

    def crash(self) -> None:
        if self.engine.alive and self.faulty:
            self.engine.crash()

    def crashed(self, engine: SimulatedEngine) -> None:
        if engine is self.engine:
            longest = 60 if self.rng.random() < 0.7 else 300
            self.after(self.rng.uniform(0.1, longest), self.start_engine)

    def start_engine(self) -> None:
        if self.engine.alive:
            return
        self.tell("engine", "starts again")
        SimulatedEngine(self).wake()

    def take_over(self) -> None:
        """A second engine takes the lease while the first still runs: it was only thought to be dead."""
        if self.engine.alive and self.faulty:
            self.tell("engine", "is taken over by another")
            SimulatedEngine(self).wake()

    def policy_of(self, settings: Mapping[str, Any]) -> Policy:
        return replace(self.plan.policy, **settings.get("policy", {}))

    def change_policy(self) -> None:
        """The operator sets one number. The engine follows as soon as it is rung, and that may be late."""
        chance = random.Random(f"set {self.plan.seed} {self.now}")
        key = chance.choice(sorted(_SETTABLE))
        new = chance.choice(_SETTABLE[key])
        if key == "on_escalation" and self.plan.tasks:
            return  # see `draw_plan`
        self.tell("operator", f"sets {key} = {new}")
        old, self.policy = getattr(self.policy, key), replace(self.policy, **{key: new})
        self.most_at_once = max(self.most_at_once, self.policy.tasks_at_once)
        with self.store.write() as tx:
            team = tx.load_team("demo")
            assert team is not None
            if team.status is Status.SHUTDOWN:
                return
            settings = tx.team_settings(team.id)
            policy = settings.get("policy", {})
            tx.change_settings(team.id, {**settings, "policy": {**policy, key: new}})
            applied = apply(tx, team, [ev.PolicyChanged(((key, old, new),))], self.policy, self.make_start)
        self.store.ring(applied.channels)

    def make_start(self, team: Team, member: Member, plan: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            **plan,
            "mark": mark_of(member.key),
            "argv": ["agent", *_words(self._temper(member.name))],
            "prompt_file": f"{HOME}/teams/demo/prompts/{member.key}.md",
        }

    def judge(self, team: Team, member: Member, findings: Findings, policy: Policy) -> Verdict | None:
        verdict = judge(self.commands.run, team, member, findings, policy)
        if verdict is None:
            self.after(self.rng.uniform(1, 90), lambda: self._say_verdict(member.key))
        return verdict

    # --- the store, as the run observes it

    def before_write(self) -> None:
        if self._acting is not None and self.fault("busy"):
            self.tell("store", "is busy")
            raise StoreError("The store is busy", "a fault")

    def before_commit(self) -> None:
        if self._acting is not None and self.fault("crash_before"):
            self._acting.alive = False
            raise Crashed

    def rolled_back(self) -> None:
        self._steps.clear()

    def after_commit(self, watched: Watched) -> None:
        try:
            self._check_commit(watched)
        except Violation as violation:
            raise Found(violation) from None
        if self._acting is not None and self.fault("crash_commit"):
            self._acting.alive = False
            raise Crashed

    def _check_commit(self, watched: Watched) -> None:
        if self._acting is not None and self._acting is not self.engine:
            raise Violation("I13: an engine that lost its lease has committed")
        self.commits += 1
        steps = self._steps[:]
        self._steps.clear()
        if watched.team is not None:
            self.team = watched.team
        self._mailboxes.update(watched.mailboxes)
        for act in watched.ordered:
            if act.id not in self.pending:
                self.pending[act.id] = act.kind
                self.pending_idle[act.id] = self.now
        for act_id in watched.ended:
            self.pending.pop(act_id, None)
            self.pending_idle.pop(act_id, None)
        for taken in steps:
            self._check(taken)
        if steps:
            self.people.look()

    def rung(self, channels: set[str]) -> None:
        if "engine" in channels and not self._fault_free:
            lost = self.fault("lose_ring")
            if lost:
                self.tell("mail", "loses a ring")
            self.engine.ring(_RING_LOST_S if lost else 0.001)

    # --- checkers

    def _check(self, taken: Step) -> None:
        self.steps += 1
        self.applied.add(type(taken.event).__name__)
        self._seen = remember(self._seen, taken)
        self._narrate(taken.ready)
        check(taken, self._seen, OVER_HISTORIES)
        for act in taken.acts:
            if act.id in self._act_ids:
                raise Violation(f"two acts have the id {act.id}: the second would never be performed")
            self._act_ids.add(act.id)
        for problem in (
            I4_the_next_task_waits(taken, self._seen, self.most_at_once) if self.plan.tasks else ()
        ):
            raise Violation(f"I4_the_next_task_waits: {problem}")

    def _check_nothing_is_left_undone(self) -> None:
        """An engine that runs performs every pending act, notices every end, and leaves no tree frozen."""
        engine = self.engine
        since = self.now - _UNDONE_S
        if not engine.alive or engine.began > since or engine.performer.next_due is not None:
            self._unwatched.clear()
            return
        for act_id, idle in self.pending_idle.items():
            if max(idle, engine.began) < since and self.pending[act_id] is not ActKind.RUN_GATE:
                raise Violation(f"undone: {act_id} is pending, and no worker performs it")
        for key, member in self.team.members.items():
            if not self._is_unwatched(member) or engine.executor.holds(f"{self.team.id}/{key}"):
                self._unwatched.pop(key, None)
            elif self._unwatched.setdefault(key, self.now) < since:
                raise Violation(f"unnoticed: {key} has ended or is frozen, and no engine does anything")

    def _is_unwatched(self, member: Member) -> bool:
        tree = self.world.tree(member.key)
        if tree is None or not member.live or member.state is not State.RUNNING:
            return False
        if not tree.agent_alive:
            return not member.exited
        return tree.processes[0].state == "T" and member.activity is not Activity.PAUSED

    def _narrate(self, ready: Ready) -> None:
        for note in ready.entries:
            data = " ".join(f"{k}={v}" for k, v in note.data.items())
            self.tell(note.about or "team", f"{note.kind} {data}".strip())
        for post in ready.mail:
            self.tell(post.to, f"gets mail: {post.subject}")

    # --- front ends

    def commit(self, *events: ev.Event | PhaseEvent) -> None:
        """As a front end commits: one transaction, then the engine is rung."""
        with self.store.write() as tx:
            team = tx.load_team("demo")
            assert team is not None
            applied = apply(tx, team, events, self.policy, self.make_start)
            for spawned in (event for event in events if isinstance(event, ev.Spawn)):
                member = applied.team.latest(spawned.name)
                if applied.refused is None and member is not None:
                    plan = {"prompt": "work"}
                    tx.put_fact(team.id, member.key, "plan", plan)
                    tx.put_fact(team.id, member.key, "start", self.make_start(team, member, plan))
        self.store.ring(applied.channels)

    def reviewed_commit(self, key: str) -> str:
        with self.store.read() as tx:
            return str((tx.fact(self.team.id, key, "reviewing") or {}).get("commit", ""))

    # --- members

    def _temper(self, name: str) -> Temper:
        return TEMPERS[next((c.temper for c in self.plan.cast if c.name == name), "cooperative")]

    def _start_agent(self, tree: FakeTree) -> None:
        key = key_of(tree)
        self.agents[key] = Agent(self, key, self._temper(key.rpartition("#")[0]))
        self.agents[key].begin()

    def _nudge_agent(self, tree: FakeTree) -> None:
        self.agents[key_of(tree)].nudged()

    def _see_end(self, tree: FakeTree, agent: bool) -> None:
        if self.engine.alive:
            self.engine.watch.see_end(tree, agent)

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

    def _say_verdict(self, key: str) -> None:
        if self.rng.random() < 0.8:
            self.carry(ev.Judged(key, self.rng.random() < 0.5))

    def carry(self, event: ev.Event) -> None:
        """Before it is accepted a word may be lost; it may come late, after later ones, and twice."""
        name = type(event).__name__
        if self.fault("lose_word"):
            self.tell("mail", f"loses {name}")
            return
        self._words += 1
        number, late = self._words, self.rng.uniform(0, 0.5)
        if self.fault("late_word"):
            self.tell("mail", f"delays {name}")
            late = self.rng.uniform(20, 200)
        self.after(late, lambda: self._accept(event, number))
        if self.fault("double_word"):
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
        self.store.ring(["engine"])

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
        self.store.ring(["engine"])

    def send_mail(self, sender: str, to: str, subject: str) -> None:
        try:
            with self.store.write() as tx:
                self.postmen.accept(deliver(tx, Mail("", self.team.id, sender, to, subject, "words"))[0])
        except HeadcountError as refusal:
            self.tell(sender, refusal.what)

    def read_inbox(self, box: str) -> list[Mail]:
        boxes = {box, box.partition("#")[0]}
        if not boxes & self._mailboxes:
            return []
        self._mailboxes -= boxes
        with self.store.write() as tx:
            mails = tx.inbox(self.team.id, (box,), unread=True)
            tx.mark_read(self.team.id, [m.id for m in mails])
            everything = tx.inbox(self.team.id, None) if mails else []
        if mails:
            self.postmen.read(box, mails, {mail.id: n for n, mail in enumerate(everything)})
        return mails

    # --- from the first to the last

    def play(self) -> None:
        with watched(self._steps):
            self._play()

    def _play(self) -> None:
        SimulatedEngine(self).wake()
        if self.plan.tasks:
            tasks.open_run(self)
        for fault in self.plan.faults:
            deed = {"crash": self.crash, "clock": self._jump, "take_over": self.take_over}.get(fault.what)
            if deed is not None and fault.at:
                self.after(fault.at, deed)
        self.people.begin()
        self.go_until(FAULTS_UNTIL_S)
        self.faulty = False
        if self.team.status is not Status.SHUTDOWN:
            self.tell("world", "nothing goes wrong any more")
            self.start_engine()
            self.go_until(self.engine.executor.free_at)  # what hangs comes to its end first
            self.people.bring_home(bound_s(self.policy, len(self.team.members)))
        if self.plan.tasks:
            tasks.check_phase(self)
        self.world.check_nobody_lives()
        self.world.check_nothing_is_lost()
        if self.has_hub:
            self.world.check_the_hub_has_it(self.team)
        with self.store.read() as tx:
            self.postmen.check_all_is_there({mail.id for mail in tx.inbox(self.team.id, None)})
        give_back(self.store)

    def _jump(self) -> None:
        self.wall_jump += self.rng.choice((-86400.0, -3600.0, 3600.0, 86400.0))
        self.tell("clock", "jumps")


def _words(temper: Temper) -> list[str]:
    """How the fake runtime is told what ends such an agent."""
    endings = {"exit": [], "term": ["ignore-exit"], "kill": ["ignore-exit", "ignore-term"]}
    deaf = [] if temper.heeds_nudges else ["deaf"]
    return [*endings[temper.exits_on], *["stray"] * temper.strays, *deaf]


def simulate(seed: int) -> Run:
    """Play the run of a seed; a failure carries its story."""
    return play(draw_plan(seed, random.Random(seed)))


def play(plan: Plan) -> Run:
    run = Run(plan)
    try:
        run.play()
    except Found as found:
        raise Failure(run, found.violation) from found
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
