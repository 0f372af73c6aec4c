"""What one trial does, drawn from its seed. The same seed and number give the same plan."""

from __future__ import annotations

import random
import shlex
from dataclasses import dataclass

from . import strays, work
from .agent import ANSWERS

# Shapes that need seconds or change settings for everyone are drawn less often.
_RARE = {
    "many_files",
    "deep_path",
    "over_limit",
    "bare_setting",
    "broken_head",
    "broken_index",
    "all_ignored",
}
_KILLED = ("engine", "keeper", "reaper", "helper", "git", "down")
_SIGNALS = ("KILL", "KILL", "KILL", "STOP")
_CALLERS = ("plain", "plain", "plain", "plain", "tmux", "hook", "worktree")
_ENDINGS = ("down", "down", "down", "force", "force", "force", "member", "no-wait", "keep-team", "run")


@dataclass(frozen=True)
class Mate:
    name: str
    answer: str
    work: tuple[str, ...]
    strays: tuple[str, ...]
    spawned: bool  # by `spawn` instead of `up`
    terminal: bool


@dataclass(frozen=True)
class Kill:
    """A signal to one kind of process, some time after a phase began. After STOP, CONT follows."""

    phase: str  # "up", "work", "down"
    after_s: float
    target: str
    signal: str


@dataclass(frozen=True)
class Plan:
    seed: int
    number: int
    only: str
    calm: bool
    mates: tuple[Mate, ...]
    ending: str  # "down", "force", "member", "no-wait", "keep-team", "run"
    escalation: str  # the policy: "ask" or "force-kill"
    caller: str  # where the user calls from: "plain", "tmux", "hook", "worktree"
    kills: tuple[Kill, ...] = ()
    interference: str = ""  # what the user does during the end: "gc", "fetch", "pack-refs", ""
    gate: str = ""  # code of the project that headcount runs: "verify", "sync", ""

    @property
    def replay(self) -> str:
        words = ["python", "-m", "bench.campaign", "--seed", str(self.seed), "--trial", str(self.number)]
        words += ["--only-shape", self.only] if self.only else []
        return shlex.join([*words, "--calm"] if self.calm else words)

    def shapes(self) -> set[str]:
        found = {shape for mate in self.mates for shape in (*mate.work, *mate.strays, mate.answer)}
        return found | {self.ending} | ({self.gate} if self.gate else set())


def draw(seed: int, number: int, only: str = "", calm: bool = False) -> Plan:
    """Draw a trial; `only` gives every member this one shape, `calm` leaves out kills and the user."""
    chance = random.Random(f"{seed}/{number}/{only}")
    count = chance.choice((1, 1, 2, 2, 2, 3, 3, 4, 5, 6))
    ending = chance.choice(_ENDINGS)
    if only == "merge_driver":
        ending = "run"
    mates = tuple(_mate(chance, f"m{index}", only, index) for index in range(count))
    return Plan(
        seed=seed,
        number=number,
        only=only,
        calm=calm,
        mates=mates,
        ending=ending,
        escalation=chance.choice(("force-kill", "force-kill", "ask")),
        caller="plain" if calm else chance.choice(_CALLERS),
        kills=_kills(chance) if not calm and chance.random() < 0.75 else (),
        interference="" if calm else _interference(chance, mates),
        gate=_gate(chance, ending, calm),
    )


def _interference(chance: random.Random, mates: tuple[Mate, ...]) -> str:
    drawn = chance.choice(("", "", "", "gc", "pack-refs", "fetch"))
    # git itself prunes what only FETCH_HEAD or a ref of another worktree names: the loss is the user's own.
    unsafe = {"fetch_head", "worktree_ref"} & {shape for mate in mates for shape in mate.work}
    return "pack-refs" if drawn == "gc" and unsafe else drawn


def _gate(chance: random.Random, ending: str, calm: bool) -> str:
    if calm:
        return ""
    return chance.choice(("", "verify", "sync") if ending == "run" else ("", "", "", "sync"))


def _mate(chance: random.Random, name: str, only: str, index: int) -> Mate:
    plain = [shape for shape in work.PLAIN if shape not in _RARE]
    works = chance.sample(plain, chance.choice((0, 1, 2, 3, 5)))
    if chance.random() < 0.15:
        works.append(chance.choice(sorted(_RARE & set(work.PLAIN))))
    if chance.random() < 0.25:
        works.append(chance.choice(list(work.LAST)))
    starts = chance.sample(list(strays.STARTS), chance.choice((0, 0, 1, 1, 2, 3)))
    answer = chance.choice(ANSWERS)
    if only:
        works = [only] if only in work.SHAPES else []
        starts = [only] if only in strays.STARTS else []
        answer = only if only in ANSWERS else answer
    if "on_term" in starts and "ignores_term" in starts:
        starts.remove("ignores_term")
    spawned = index > 0 and chance.random() < 0.25
    return Mate(name, answer, tuple(works), tuple(starts), spawned, chance.random() < 0.25)


def _kills(chance: random.Random) -> tuple[Kill, ...]:
    kills = []
    for _ in range(chance.choice((1, 1, 2, 2, 3, 4))):
        phase = chance.choice(("up", "work", "down", "down", "down", "down"))
        target = chance.choice(_KILLED)
        if target == "down" and phase != "down":
            target = "engine"
        name = chance.choice((*_SIGNALS, "INT")) if target == "down" else chance.choice(_SIGNALS)
        # Members have two seconds to answer: asking ends, inspecting and saving begin about then.
        spans = {"up": (0.0, 1.2), "work": (0.0, 0.5), "down": chance.choice(((0.0, 1.5), (1.8, 4.5)))}
        kills.append(Kill(phase, round(chance.uniform(*spans[phase]), 3), target, name))
    return tuple(sorted(kills, key=lambda kill: (kill.phase, kill.after_s)))
