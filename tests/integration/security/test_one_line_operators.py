"""A member that tries to become the operator, or another member, in one line."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount.app.adapters import make_runtimes
from headcount.app.app import App, open_app
from headcount.app.member_start import Plan
from headcount.app.resident import driving
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.protocol.member import State
from tests.support.lab import end_everything

from .conftest import COMMAND, Desk

TEAM = "crew"
LIMIT_S = 60.0
WAITS = "while :; do sleep 1; done"


class Attack:
    """A team whose members run a script of the attacker's."""

    def __init__(self, app: App, place: Path) -> None:
        self.app = app
        self.place = place

    def start(self, name: str, script: str = WAITS, **more: Any) -> str:
        key = spawn(self.app, TEAM, Plan(name, command=("bash", "-c", script), **more)).key
        wait_for(self.app, TEAM, lambda team: team.members[key].state is not State.STARTING, LIMIT_S)
        return key

    def environment(self, key: str) -> dict[str, str]:
        """Of a member's own process, as any process of the same user can read it."""
        with self.app.store.read() as tx:
            mark = (tx.fact(f"{TEAM}#1", key, "start") or {})["mark"]
        handle = make_runtimes(self.app)["plain"].adopt(mark)
        assert handle is not None
        try:
            raw = Path(f"/proc/{handle.record.agent.pid}/environ").read_bytes().decode()
        finally:
            handle.close()
        return dict(item.split("=", 1) for item in raw.split("\0") if "=" in item)

    def run_as_member(self, name: str, line: str, **more: Any) -> str:
        """What a line says that a member runs in its shell."""
        out = self.place / f"{name}.out"
        script = f"( {line} ) > {out} 2>&1 < /dev/null; touch {out}.done; {WAITS}"
        self.start(name, script, **more)
        deadline = time.monotonic() + LIMIT_S
        while not Path(f"{out}.done").exists():
            assert time.monotonic() < deadline, out.read_text() if out.exists() else "it wrote nothing"
            time.sleep(0.02)
        return out.read_text()

    @property
    def socket(self) -> str:
        """Of the tmux server of the terminals; elsewhere if the state directory is too deep for one."""
        return make_runtimes(self.app)["tmux"].socket

    @property
    def members(self) -> set[str]:
        with self.app.store.read() as tx:
            return {member.name for member in self.app.load(tx, TEAM).members.values()}


@pytest.fixture
def attack(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Attack]:
    for name, value in desk.environ.items():
        monkeypatch.setenv(name, value)
    app = open_app(str(desk.repo), {})
    try:
        with driving(app):
            create_team(app, TEAM, environ=desk.environ)
            yield Attack(app, desk.place)
            end_everything(app)
    finally:
        app.close()


def spawns(app: App) -> str:
    """Start a member as the operator: without a variable of headcount's."""
    clean = f"env -i PATH={shlex.quote(os.environ['PATH'])} HOME=/nonexistent HEADCOUNT_HOME={app.home}"
    return f"{clean} {COMMAND} spawn intruder --team {TEAM} --json -- sleep 1000"


@pytest.mark.parametrize("how", ["", "--mount-proc"])
def test_a_new_pid_namespace_does_not_make_a_member_the_operator(attack: Attack, how: str) -> None:
    said = attack.run_as_member(
        "eve", f"unshare --user --map-root-user --pid --fork {how} {spawns(attack.app)}"
    )
    assert '"no-identity"' in said, said
    assert attack.members == {"eve"}


def test_files_mounted_over_those_of_proc_do_not_make_a_member_the_operator(attack: Attack) -> None:
    """In a user namespace of its own a member may mount. Its ancestors then have no environment or parent."""
    hide = (
        "p=$$; while [ $p -gt 1 ]; do next=$(awk '{print $4}' /proc/$p/stat); "
        f"mount --bind {attack.place}/stat /proc/$p/stat; mount --bind /dev/null /proc/$p/environ; "
        "p=$next; done"
    )
    (attack.place / "stat").write_text("1 (init) S 0 1 1 0 -1")
    space = "unshare --user --map-current-user --keep-caps --mount"
    said = attack.run_as_member("eve", f"{space} bash -c {shlex.quote(f'{hide}; {spawns(attack.app)}')}")
    assert '"no-identity"' in said, said
    assert attack.members == {"eve"}


def test_the_tmux_server_of_the_terminals_does_not_make_a_member_the_operator(attack: Attack) -> None:
    attack.start("bob", runtime="tmux")
    out = attack.place / "from-tmux"
    order = shlex.quote(f"{spawns(attack.app)} > {out} 2>&1; true")
    attack.run_as_member("eve", f"tmux -S {attack.socket} run-shell {order}")
    assert '"no-identity"' in out.read_text(), out.read_text()
    assert attack.members == {"bob", "eve"}


def test_a_token_of_another_member_is_worth_nothing(attack: Attack) -> None:
    """A member can read it in the environment of the other's process."""
    stolen = attack.environment(attack.start("alice"))
    as_alice = " ".join(shlex.quote(f"{k}={v}") for k, v in stolen.items() if k.startswith("HEADCOUNT_"))
    said = attack.run_as_member(
        "eve", f"{as_alice} {COMMAND} done --json; {as_alice} {COMMAND} status --json"
    )
    codes = [json.loads(line)["error"]["code"] for line in said.splitlines()]
    assert codes == ["bad-token", "bad-token"], said


@pytest.mark.parametrize("names", [["hc-operator"], ["hc-commands", "hc-operator"]])
def test_the_name_of_the_operators_reaper_does_not_make_a_member_the_operator(
    attack: Attack, names: list[str]
) -> None:
    """Any program can have any name: here it is a copy of a shell, without a variable of headcount's."""
    line = spawns(attack.app)
    for name in reversed(names):
        shutil.copy("/bin/sh", attack.place / name)
        path = shlex.quote(os.environ["PATH"])
        line = f"env -i PATH={path} {attack.place / name} -c {shlex.quote(f'{line}; :')}"
    said = attack.run_as_member("eve", line)
    assert '"no-identity"' in said, said
    assert attack.members == {"eve"}


def test_a_stolen_token_and_mark_are_worth_nothing_on_the_tmux_server(attack: Attack) -> None:
    attack.start("bob", runtime="tmux")
    stolen = attack.environment(attack.start("alice"))
    given = " ".join(
        shlex.quote(f"-e{name}={value}") for name, value in stolen.items() if name.startswith("HEADCOUNT_")
    )
    out = attack.place / "from-tmux"
    order = shlex.quote(f"{COMMAND} done --json > {out}.part 2>&1; mv {out}.part {out}")
    attack.run_as_member(
        "eve",
        f"tmux -S {attack.socket} new-session -d {given} {order}; until [ -e {out} ]; do sleep 0.1; done",
    )
    assert json.loads(out.read_text())["error"]["code"] == "bad-token", out.read_text()


def test_a_member_writes_no_file_by_the_report(attack: Attack, desk: Desk) -> None:
    """With permissions = "edit" it runs this command unasked, and may write in its workspace only."""
    said = attack.run_as_member("eve", f"{COMMAND} report {TEAM} --json -o {desk.repo}/README")
    assert json.loads(said)["error"]["code"] == "not-allowed", said
    assert (desk.repo / "README").read_text() == "hello\n"
    printed = attack.run_as_member("fay", f"{COMMAND} report {TEAM} -o -")
    assert printed.startswith("<!DOCTYPE html>"), printed[:300]


def test_a_member_itself_may_call_from_whatever_it_started(attack: Attack) -> None:
    said = attack.run_as_member("ann", f"sh -c 'setsid sh -c \"{COMMAND} inbox --json\"'")
    assert said.startswith("["), said


def test_a_stolen_token_outside_of_any_engine_changes_nothing_for_the_operator(desk: Desk) -> None:
    """Without an engine no namespace is recorded as the engine's: the operator in a container is still it."""
    open_app(str(desk.repo), {}).close()
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", sys.executable, "-m",
         "headcount", "status", "--json"], cwd=desk.repo, env=desk.environ, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
