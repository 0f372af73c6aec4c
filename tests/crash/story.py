"""A team's whole life, played by looking: whoever plays it reads how far it is, and does what comes next.

So the one who plays it may be killed at any moment, and another goes on. Four members, whose work is known to
the letter:

    ada   cooperative: approves, exits when it is asked to
    ben   dirty: approves with a file lying around, is sent back, commits it, signals done
    cy    silent: unsaved work in every corner, a child that left its process group, last words on SIGTERM
    dee   rejects whenever it is asked; is forced. Its commits are on no branch

The first request is refused by dee and costs nothing. Then dee is forced, and everyone is asked again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from headcount.app.app import App, open_app
from headcount.app.member_start import Plan
from headcount.app.standing_down import decide, stand_down
from headcount.app.teams import create_team, spawn
from headcount.protocol import events as ev
from headcount.protocol.member import Member, State
from headcount.protocol.team import Status, Team

TEAM = "crew"
LIMIT_S = 90.0

SETTINGS = """\
[policy]
answer_timeout_s = 2
nudge_timeout_s = 0.6
exit_grace_s = 0.2
stop_grace_s = 2
"""

_BIG = "".join(f"line {n} of something long\n" for n in range(4000))

# What each of them makes; all of it must be found again, wherever it stood.
MADE: dict[str, tuple[str, ...]] = {
    "ada": ("committed by ada\n",),
    "ben": ("committed by ben\n", "notes that ben forgot\n"),
    "cy": ("committed by cy\n", "stashed by cy\n", "staged by cy\n", "modified by cy\n", "untracked by cy\n"),
    "dee": ("on no branch, by dee\n", "changed by dee\n", _BIG),
}
LAST_WORDS = "written by cy after SIGTERM\n"

_READY = 'touch "$HEADCOUNT_HOME/ready-$HEADCOUNT_MEMBER"'
_WAIT = "sleep 1000 & wait"
_SHELL = {
    "ada": f"echo committed by ada > ada.txt; git add .; git commit -qm ada; {_READY}; {_WAIT}",
    "ben": "echo committed by ben > ben.txt; git add .; git commit -qm ben;"
    f"echo notes that ben forgot > notes; {_READY}; {_WAIT}",
    "cy": "echo committed by cy > cy.txt; git add .; git commit -qm cy;"
    "echo stashed by cy > README; git stash -q;"
    "echo staged by cy > README; git add README; echo modified by cy > README;"
    "echo untracked by cy > todo;"
    "trap 'echo written by cy after SIGTERM > words && touch \"$HEADCOUNT_HOME/words\"' TERM;"
    "setsid bash -c \"trap '' TERM; while :; do sleep 1; done\" & disown;"
    f"{_READY}; while :; do sleep 0.1; done",
    "dee": "git checkout -q --detach; echo on no branch, by dee > dee.txt; git add .; git commit -qm dee;"
    "echo changed by dee > dee.txt;"
    f"seq -f 'line %g of something long' 0 3999 > big.txt; {_READY}; {_WAIT}",
}

_SCRIPTED = {
    "ada": {
        "steps": [
            {"do": "run", "command": ["bash", "-c", _SHELL["ada"].removesuffix(_WAIT)]},
            {"do": "listen"},
        ],
        "on": {"shutdown_request 1": [{"do": "approve"}]},  # the second it approves, and exits
    },
    "ben": {
        "steps": [
            {"do": "run", "command": ["bash", "-c", _SHELL["ben"].removesuffix(_WAIT)]},
            {"do": "listen"},
        ],
        "on": {
            "shutdown_request": [{"do": "approve"}],
            "VERIFICATION_FAILED": [{"do": "commit", "message": "notes"}, {"do": "done"}],
        },
    },
    "dee": {
        "steps": [
            {"do": "run", "command": ["bash", "-c", _SHELL["dee"].removesuffix(_WAIT)]},
            {"do": "listen"},
        ],
        "on": {"shutdown_request": [{"do": "reject", "reason": "not yet"}]},
    },
}

# A member's command takes a moment: whoever speaks through it must not be called silent.
_SETTINGS_SPEAKING = SETTINGS.replace("answer_timeout_s = 2", "answer_timeout_s = 8").replace(
    "nudge_timeout_s = 0.6", "nudge_timeout_s = 4"
)


def environment(place: str) -> dict[str, str]:
    """Nothing of the user's: no git configuration, no home."""
    who = {
        f"GIT_{role}_{what}": "t@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADCOUNT_", "GIT_"))}
    binaries = os.path.dirname(sys.executable)
    return {
        **kept, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": f"{place}/home",
        "PATH": f"{binaries}:{os.environ['PATH']}",
    }  # fmt: skip


def make_repository(place: str, *, speaking: bool = False) -> None:
    os.makedirs(f"{place}/home")

    def run(*words: str) -> None:
        subprocess.run(["git", "-C", place, *words], check=True, env=environment(place))

    run("init", "--quiet", "-b", "main")
    with open(f"{place}/README", "w") as file:
        file.write("hello\n")
    run("add", "README")
    run("commit", "--quiet", "-m", "first")
    with open(f"{place}/headcount.toml", "w") as file:
        file.write(_SETTINGS_SPEAKING if speaking else SETTINGS)
    if speaking:
        for name, script in _SCRIPTED.items():
            with open(f"{place}/home/{name}.json", "w") as file:
                json.dump(script, file)


class Player:
    """Goes on from wherever the story stands."""

    def __init__(self, place: str) -> None:
        self.app: App = open_app(place, {})
        self._place = place
        self._speaking = os.path.exists(f"{place}/home/ada.json")
        self._said: set[tuple[str, str | None]] = set()

    def play(self) -> Team:
        deadline = time.monotonic() + LIMIT_S
        while True:
            team = self._look()
            if team is not None and team.status is Status.SHUTDOWN:
                return team
            if time.monotonic() > deadline:
                raise TimeoutError(f"the story did not end: {team}")
            if not any(move() for move in self._moves(team)):
                self.app.store.wait(f"team/{TEAM}", 0.05)

    def _look(self) -> Team | None:
        with self.app.store.read() as tx:
            return tx.load_team(TEAM)

    def _moves(self, team: Team | None) -> Iterator[Callable[[], bool]]:
        if team is None:
            yield self._create
            return
        yield lambda: self._spawn_next(team)
        yield lambda: self._ask(team)
        yield lambda: self._answer(team)
        yield lambda: self._clean_up(team)
        yield lambda: self._decide(team)

    # --- the operator's part

    def _create(self) -> bool:
        create_team(self.app, TEAM, environ=environment(self._place))
        return True

    def _spawn_next(self, team: Team) -> bool:
        for name in MADE:
            if name not in team.generations:
                spawn(self.app, TEAM, Plan(name, command=self._command(name)))
                return True
        return False

    def _command(self, name: str) -> tuple[str, ...]:
        if self._speaking and name in _SCRIPTED:
            return sys.executable, "-m", "headcount.agents.scripted", f"{self._place}/home/{name}.json"
        return "bash", "-c", _SHELL[name]

    def _ask(self, team: Team) -> bool:
        """All; then, when dee has refused, dee by force; then all again."""
        if not all(os.path.exists(f"{self.app.home}/ready-{name}") for name in MADE):
            return False
        with self.app.store.read() as tx:
            told = tx.journal(team.id, kinds=("stand_down", "rejected"))
        asked = [e.data for e in told if e.kind == "stand_down"]
        if not asked:
            stand_down(self.app, TEAM, reason="first")
        elif len(asked) == 1 and told[-1].kind == "rejected":
            stand_down(self.app, TEAM, ["dee"], "second", force=True)
        elif len(asked) == 2:
            stand_down(self.app, TEAM, reason="third")
        else:
            return False
        return True

    def _decide(self, team: Team) -> bool:
        for escalation in team.escalations.values():
            if escalation.state == "open":
                decide(self.app, escalation.id, "force-kill", team=TEAM)
                return True
        return False

    # --- the members' part, unless they speak for themselves

    def _answer(self, team: Team) -> bool:
        said = False
        for member in team.members.values():
            waits = member.state is State.ASKED and member.answer is None and member.ask is not None
            if waits and member.name != "cy" and not self._speaking:
                approve = member.name != "dee"
                said |= self._say(member, ev.Answered(member.key, str(member.ask), approve, "not yet"))
        return said

    def _clean_up(self, team: Team) -> bool:
        ben = team.latest("ben")
        if self._speaking or ben is None or ben.state is not State.NUDGED:
            return False
        workspace = f"{self.app.home}/worktrees/{TEAM}/ben"
        for words in (("add", "--all"), ("commit", "--quiet", "--allow-empty", "-m", "notes")):
            subprocess.run(["git", "-C", workspace, *words], check=True, env=environment(self._place))
        return self._say(ben, ev.DoneSignalled(ben.key))

    def _say(self, member: Member, event: ev.Event) -> bool:
        """As a member's command does: an input, and a ring. Once from this process."""
        about = (member.key, f"{member.ask} {type(event).__name__}")
        if about in self._said:
            return False
        self._said.add(about)
        with self.app.store.write() as tx:
            tx.add_input(f"{TEAM}#1", event)
        self.app.store.ring(["engine"])
        return True


def expected(place: str) -> Mapping[str, tuple[str, ...]]:
    """All that must be found again; the last words only if they were spoken."""
    spoken = os.path.exists(f"{place}/.headcount/words")
    return {**MADE, "cy": (*MADE["cy"], LAST_WORDS)} if spoken else MADE
