"""One trial: start a team, disturb it, end it, and judge from outside what is left and what is lost."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from . import ledger
from .bystanders import Bystanders
from .hunt import Remains, gather, lost, published, skipped, unrecorded
from .place import TEAM, Place, Ran
from .plan import Mate, Plan
from .processes import end_all, strays
from .repository import git, prunable
from .snapshot import Snapshot, take, walk
from .targets import Killer, headcounts_own

_READY_S = 40.0
_DOWN_S = 90.0
_RUN_S = 75.0
_ALL_DOWNS_S = 220.0
_RESIDENT_S = 30.0
_USUAL_UP_S = 2.5
_BUG = 70
INTERRUPTED = "interrupted"


@dataclass
class Result:
    plan: Plan
    place: str
    broken: list[str] = field(default_factory=list)
    admitted: list[str] = field(default_factory=list)  # what headcount itself reported with exit code 1
    kills: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)  # pieces looked for, restores compared, and so on
    seconds: float = 0.0
    unplayed: str = ""  # why the trial could not be played, which is neither kept nor broken

    @property
    def verdict(self) -> str:
        if self.unplayed:
            return "unplayed"
        return "broken" if self.broken else "admitted" if self.admitted else "kept"


class Trial:
    def __init__(
        self, plan: Plan, headcount: str, stop: Callable[[], bool], scratch: str | None = None
    ) -> None:
        self.plan = plan
        self.place = Place(plan, headcount, scratch)
        self.result = Result(plan, self.place.top)
        self._stop = stop
        self._before: dict[str, Snapshot] = {}
        self._stretch = 1.0
        self._run = plan.ending == "run"
        self._users: frozenset[int] = frozenset()  # processes of the user

    def play(self) -> Result:
        """Play the trial and clean up. The directory stays when a promise was broken."""
        began = time.monotonic()
        bystanders = None
        try:
            self.place.make_repository()
            users = take(self.place.repo, f"{self.place.repo}/.git")
            refs = self._refs()
            bystanders = Bystanders(
                self.place.top, self.place.repo, self.place.environment, self.plan.caller == "tmux"
            )
            self._users = bystanders.pids
            self._start(bystanders)
            code = self._end_team()
            if not self._stop():
                self._judge(code, bystanders, users, refs)
            if self._stop():
                self.result.unplayed = INTERRUPTED
        except (OSError, RuntimeError, ValueError) as error:
            self.result.unplayed = f"{type(error).__name__}: {error}"
        finally:
            if bystanders is not None:
                bystanders.end()
            left = end_all(self.place.top, self.place.locks)
            if left:
                self.result.unplayed = f"could not end {left}"
        self.result.seconds = time.monotonic() - began
        self._note_result()
        if self.result.verdict in ("kept", "admitted") or self.result.unplayed == INTERRUPTED:
            shutil.rmtree(self.place.top, ignore_errors=True)
        return self.result

    def _note_result(self) -> None:
        for line in (*self.result.broken, *self.result.admitted, self.result.unplayed):
            self.place.note(line)

    # --- starting

    def _start(self, bystanders: Bystanders) -> None:
        mates = list(self.plan.mates)
        first = [mate for mate in mates if not mate.spawned or self._run]
        definition = self.place.definition(first, self._run)
        given, cwd = self._caller(bystanders)
        if self._run:
            return
        with self._kills("up"):
            up = self.place.headcount("up", definition, "--json", given=given, cwd=cwd, stop=self._stop)
            self._see(up)
        self._stretch = min(6.0, max(1.0, up.seconds / _USUAL_UP_S))
        for mate in mates:
            if mate.spawned:
                words = [
                    "spawn",
                    mate.name,
                    "--team",
                    TEAM,
                    *(["--tmux"] if mate.terminal else []),
                    "--json",
                    "--",
                ]
                self._see(self.place.headcount(*words, *self.place.agent(mate, False), given=given, cwd=cwd))
        made = [mate for mate in mates if self._wait_for(mate, "made")]
        for mate in made:
            self._snapshot(mate)
        with self._kills("work"):
            for mate in made:
                self._wait_for(mate, "ready")

    def _caller(self, bystanders: Bystanders) -> tuple[dict[str, str], str]:
        """Return what the user's own environment adds, and where the user calls from."""
        repo = self.place.repo
        if self.plan.caller == "tmux":
            return {"TMUX": f"{bystanders.socket},{bystanders.server},0", "TMUX_PANE": "%0"}, repo
        if self.plan.caller == "hook":
            return {"GIT_DIR": f"{repo}/.git", "GIT_INDEX_FILE": f"{repo}/.git/index", "GIT_PREFIX": ""}, repo
        if self.plan.caller == "worktree":
            return {}, f"{self.place.top}/linked"
        return {}, repo

    def _wait_for(self, mate: Mate, kind: str) -> bool:
        """Tell whether the agent got so far; it may have been ended before, by a kill or a failed start."""
        deadline = time.monotonic() + (_READY_S if self.result.kills["engine KILL"] == 0 else _READY_S / 3)
        while time.monotonic() < deadline and not self._stop():
            if any(entry["kind"] == kind for entry in ledger.read(self.place.ledger(mate.name))):
                return True
            time.sleep(0.05)
        self.place.note(f"{mate.name} did not get to {kind!r}")
        self.result.counted[f"not {kind}"] += 1
        return False

    def _snapshot(self, mate: Mate) -> None:
        """Record the workspace of an agent that waits for it, and let the agent continue."""
        entries = {entry["kind"]: entry for entry in ledger.read(self.place.ledger(mate.name))}
        try:
            before = take(entries["made"]["cwd"], entries["began"]["git_dir"])
            if self.plan.interference == "gc":
                # The user's own `git gc` deletes some objects that a worktree names, such as an autostash.
                doomed = prunable(f"{self.place.repo}/.git")
                before.objects = {oid: kind for oid, kind in before.objects.items() if oid not in doomed}
            self._before[mate.name] = before
        except OSError as error:
            self.place.note(f"no snapshot of {mate.name}: {error}")
            self.result.counted["no snapshot"] += 1
        with open(self.place.go(mate.name), "w"):
            pass

    def _kills(self, phase: str) -> Killer:
        kills = [kill for kill in self.plan.kills if kill.phase == phase]
        place = self.place
        return Killer(kills, place, self._users, self.result.kills, self._stretch)

    def _see(self, ran: Ran) -> None:
        if ran.code == _BUG:
            self.result.broken.append(f"a bug: {(ran.error or ran.output)[-300:]}")

    # --- ending

    def _end_team(self) -> int | None:
        """Ask until it has ended; return the exit code of the command that had the last word."""
        user = threading.Thread(target=self._interfere, daemon=True)
        user.start()
        code: int | None = None
        deadline = time.monotonic() + _ALL_DOWNS_S
        with self._kills("down"):
            if self._run:
                self._run_tasks()
            for words in self._requests():
                if time.monotonic() > deadline or self._stop():
                    break
                ran = self.place.headcount("down", TEAM, *words, "--json", limit_s=_DOWN_S, stop=self._stop)
                self._see(ran)
                code = ran.code
                self.result.counted["down calls"] += 1
                if self._is_over(ran, words):
                    code = 0 if self._has_no_team(ran) else code
                    break
        user.join()
        if not self._stop() and self.plan.number % 3 == 0:
            self._see(self.place.headcount("sweep", "--json", limit_s=_DOWN_S))
        return code

    def _run_tasks(self) -> None:
        """Run the team's tasks; members that `run` starts are recorded when they have made their work."""
        watchers = [threading.Thread(target=self._record, args=(mate,)) for mate in self.plan.mates]
        for watcher in watchers:
            watcher.start()
        definition = f"{self.place.top}/team.py"
        for _ in range(3):
            ran = self.place.headcount("run", definition, "--json", limit_s=_RUN_S, stop=self._stop)
            self._see(ran)
            if ran.code is None or ran.code >= 0:  # else it was killed: called again, it continues
                break
        for watcher in watchers:
            watcher.join()

    def _record(self, mate: Mate) -> None:
        if self._wait_for(mate, "made"):
            self._snapshot(mate)

    def _requests(self) -> list[list[str]]:
        """Return the arguments of each `down` until the end: first as planned, then with force."""
        member = ["--member", self.plan.mates[0].name]
        first = {"force": [["--force"]], "member": [member, []], "no-wait": [["--no-wait"], []],
                 "keep-team": [["--keep-team"], []]}.get(self.plan.ending, [[]])  # fmt: skip
        return [*first, [], ["--force"], ["--force"], ["--force"], ["--force"]]

    def _is_over(self, ran: Ran, words: list[str]) -> bool:
        """Tell whether the team has ended, with whatever answer; a partial stand-down is not the end."""
        answer = ran.answer
        if self._has_no_team(ran):
            self.result.counted["no team"] += 1
            return True
        if {"--member", "--no-wait", "--keep-team"} & set(words):
            return False
        killed = ran.code is not None and ran.code < 0  # maybe after its answer: only its exit code counts
        return not killed and bool(answer.get("status") == "shutdown")

    def _has_no_team(self, ran: Ran) -> bool:
        """Tell whether the command that was to start the team was killed before the team was recorded."""
        return bool(ran.answer.get("error", {}).get("code") == "unknown-team")

    def _interfere(self) -> None:
        """Do what a user may do in the repository at any time."""
        words = {
            "gc": ["gc", "-q", "--prune=now"],
            "pack-refs": ["pack-refs", "--all"],
            "fetch": ["fetch", "-q", "--prune", f"{self.place.top}/library"],
        }.get(self.plan.interference, [])
        for _ in range(3 if words else 0):
            time.sleep(0.6)
            try:
                # What the user's own git starts for a member's configuration is not below headcount.
                self.place.git("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", *words)
                self.result.counted[f"git {words[0]} of the user"] += 1
            except RuntimeError as error:
                self.place.note(str(error))

    # --- judging

    def _judge(self, code: int | None, bystanders: Bystanders, users: Snapshot, refs: dict[str, str]) -> None:
        left = strays(self.place.locks, self.place.token)
        broken = self.result.broken
        if code == 0:
            broken += [f"left although `down` exited 0: {one}" for one in left]
        elif code is None or code not in (0, 1):
            broken.append(f"`down` did not end: the last exit code was {code}")
        else:
            self.result.admitted.append(f"`down` exited 1 with {len(left)} left: {self._last_word()}")
        broken += bystanders.harmed()
        if self.plan.interference == "gc":
            self._interfere()
        remains = gather(self.place.repo)
        self._restore(remains)
        seen: set[str] = set()
        for name, before in self._before.items():
            tidies = any(mate.name == name and mate.answer == "tidies" for mate in self.plan.mates)
            if tidies or self.plan.ending == "run":
                before.state = {}  # it may have concluded the operation; in a run, by committing its task
            before.objects = {oid: kind for oid, kind in before.objects.items() if oid not in seen}
            seen |= set(before.objects)  # worktrees share a repository: each object is reported once
            broken += [
                f"lost: {what}" for what in lost(name, before, remains, skipped(self.place.repo, name))
            ]
            broken += [f"published: {what}" for what in published(name, before, remains)]
            self.result.counted["pieces"] += len(before.nodes) + len(before.objects) + len(before.empty)
        for mate in self.plan.mates:
            slots = ledger.slots(ledger.read(self.place.ledger(mate.name)))
            broken += [f"lost: {what}" for what in unrecorded(mate.name, slots, remains)]
            self.result.counted["ledger entries"] += len(slots)
        broken += self._changed_for_user(users, refs)
        if self.plan.number % 5 == 0 and code == 0:
            broken += self._residents()

    def _residents(self) -> list[str]:
        """Return processes of headcount itself that live on although no team is open."""
        deadline = time.monotonic() + _RESIDENT_S
        left = headcounts_own(self.place.top, self._users)
        while left and time.monotonic() < deadline and not self._stop():
            time.sleep(0.5)
            left = headcounts_own(self.place.top, self._users)
        self.result.counted["waited for headcount itself"] += 1
        return [f"headcount's own process is left: {one}" for one in left]

    def _last_word(self) -> str:
        outputs = sorted(
            (name for name in os.listdir(f"{self.place.top}/out") if name.endswith("-down.out")),
            key=lambda name: int(name.split("-")[0]),
        )
        if not outputs:
            return "nothing"
        with open(f"{self.place.top}/out/{outputs[-1]}") as file:
            text = file.read()
        try:
            answer = json.loads(text)
        except ValueError:
            return text[:200]
        named = {
            key: answer[key]
            for key in ("status", "escalations", "alive", "warnings", "error")
            if answer.get(key)
        }
        return json.dumps(named)[:400]

    def _restore(self, remains: Remains) -> None:
        """Run `salvage verify` and `salvage restore` for every salvage, and read what was restored."""
        listed = self.place.headcount("salvage", "list", "--json")
        try:
            salvages = json.loads(listed.output)
        except ValueError:
            self.result.broken.append(f"`salvage list` exited {listed.code}: {listed.error[-200:]}")
            return
        verified = self.place.headcount("salvage", "verify", "--json")
        if verified.code != 0:
            self.result.broken.append(f"`salvage verify` exited {verified.code}: {verified.output[-300:]}")
        for number, salvage in enumerate(salvages):
            target = f"{self.place.top}/restored/{number}"
            ran = self.place.headcount("salvage", "restore", salvage["ref"], target)
            if ran.code != 0:
                self.result.broken.append(
                    f"`salvage restore {salvage['ref']}` exited {ran.code}: {ran.error[-300:]}"
                )
                continue
            tree = Snapshot(target)
            walk(target, tree)
            remains.restored.setdefault(salvage["member"], []).append(tree)
            self.result.counted["restored"] += 1

    def _refs(self) -> dict[str, str]:
        text = git(f"{self.place.repo}/.git", "for-each-ref", "--format=%(refname) %(objectname)").decode()
        return dict(line.split() for line in text.splitlines())

    def _changed_for_user(self, users: Snapshot, refs: dict[str, str]) -> list[str]:
        """Return what changed in the user's own checkout, branches, tags and stash."""
        now = Snapshot(self.place.repo)
        walk(self.place.repo, now)
        changed = {
            path for path in {*users.nodes, *now.nodes} if users.nodes.get(path) != now.nodes.get(path)
        }
        found = [f"the user's file changed: {path!r}" for path in sorted(changed)]
        after = self._refs()
        stashes = ledger_of_stash(self.place.repo)
        for name, oid in refs.items():
            if name == "refs/stash" and oid not in stashes:
                found.append("the user's stash is not on the list any more")
            elif name != "refs/stash" and after.get(name) != oid:
                found.append(f"the user's ref {name} moved from {oid} to {after.get(name)}")
        return found


def ledger_of_stash(repo: str) -> str:
    try:
        with open(f"{repo}/.git/logs/refs/stash") as file:
            return file.read()
    except FileNotFoundError:
        return ""
