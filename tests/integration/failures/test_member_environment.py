"""What a member inherits: nothing of the hook, the terminal or the session that `up` was called from."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.lab import QUICK, Lab, git

from headcount.app.adapters import make_runtimes

from .members import READY, WAIT, start, told

_TEAM = """\
from headcount import Command, Team, Teammate, define_team, define_worker

ann = define_worker("ann", command=["/bin/sh", {script!r}])
hooked = define_team("hooked", [ann])
doc = Command(name="x", description="y")[
    Team(team=hooked, description="d")[Teammate(worker=ann, description="d", prompt="p")]
]
"""


def test_F1_member_started_from_a_hook_commits_to_its_own_branch(lab: Lab, tmp_path: Path) -> None:
    """In a linked worktree git gives its hook GIT_DIR and GIT_INDEX_FILE, and the commit's author."""
    git(lab.app.root, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "feature"))
    script = tmp_path / "ann.sh"
    script.write_text(
        f"env > {tmp_path}/env; echo x > work; git add work; git commit -qm work; {READY}; {WAIT}"
    )
    (tmp_path / "team.py").write_text(_TEAM.format(script=str(script)))
    up = shlex.join([sys.executable, "-m", "headcount", "up", str(tmp_path / "team.py")])
    hook = Path(lab.app.root) / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n[ -e {tmp_path}/once ] && exit; touch {tmp_path}/once; {up}\n")
    hook.chmod(0o755)
    (tmp_path / "feature/file").write_text("mine\n")
    git(str(tmp_path / "feature"), "add", "file")
    git(str(tmp_path / "feature"), "commit", "--quiet", "-m", "the user's commit")
    lab.wait_flag("ready-ann")
    inherited = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert not inherited & {"GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_AUTHOR_DATE", "GIT_EXEC_PATH"}
    assert git(lab.app.root, "log", "-1", "--format=%s", "feature").strip() == "the user's commit"
    assert git(lab.app.root, "log", "-1", "--format=%s", "headcount/hooked/ann").strip() == "work"
    assert git(str(tmp_path / "feature"), "status", "--short") == ""


def test_F56_a_member_without_its_git_file_does_not_commit_to_the_users_branch(lab: Lab) -> None:
    """git searches upwards, and the operator's repository is above every workspace."""
    lab.create(QUICK)
    before = git(lab.app.root, "rev-parse", "HEAD")
    commit = "echo x > work; git add -f work; git commit -qm work"
    start(lab, "ann", f"rm .git; {{ {commit}; }} 2> ../ann.said; {READY}; {WAIT}")
    lab.finish(lab.ask())
    assert git(lab.app.root, "rev-parse", "HEAD") == before
    assert git(lab.app.root, "diff", "--cached", "--name-only") == ""


@pytest.fixture
def users_tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A server of the user's, with one session; how to call it."""
    call = ["tmux", "-S", str(tmp_path / "u"), "-f", "/dev/null"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
    subprocess.run([*call, "new-session", "-d", "-s", "mine", "sleep 1000"], check=True, env=clean, cwd="/")
    pid = subprocess.run(
        [*call, "display-message", "-p", "#{pid}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    monkeypatch.setenv("TMUX", f"{tmp_path}/u,{pid},0")
    monkeypatch.setenv("TMUX_PANE", "%0")
    yield call
    os.kill(int(pid), signal.SIGTERM)


def test_F2_member_does_not_reach_the_tmux_that_up_was_called_in(lab: Lab, users_tmux: list[str]) -> None:
    lab.create(QUICK)
    start(lab, "ann", f"tmux new-session -d -s dev 'sleep 1000' && {READY}; {WAIT}")
    lab.finish(lab.ask())
    sessions = subprocess.run(
        [*users_tmux, "list-sessions", "-F", "#{session_name}"], check=True, capture_output=True, text=True
    ).stdout
    assert sessions.split() == ["mine"]
    assert lab.marked() == []


def test_F3_tmux_server_of_a_member_is_its_own_and_ends_with_it(
    lab: Lab, runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is the first on this machine to call `tmux` with the user's directory for sockets."""
    users = tmp_path / "users"
    users.mkdir()
    monkeypatch.setenv("TMUX_TMPDIR", str(users))
    lab.create(QUICK)
    said = "tmux new-session -d 'sleep 1000' && tmux display-message -p '#{pid} #{socket_path}'"
    start(
        lab, "ann", f'{said} > "$HEADCOUNT_HOME/said"; echo "$?" >> "$HEADCOUNT_HOME/said"; {READY}; {WAIT}'
    )
    pid, socket = told(lab, "said")[0].split()
    assert list(users.iterdir()) == []
    directory = Path(socket).parent.parent
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert os.path.exists(f"/proc/{pid}")
    lab.finish(lab.ask())
    assert not os.path.exists(f"/proc/{pid}")
    assert not directory.exists()


def test_F4_sessions_of_a_member_on_our_tmux_server_end_with_it(lab: Lab) -> None:
    """Also one that `remain-on-exit` keeps without a process; and nobody else's."""
    lab.runtime = "tmux"
    lab.create(QUICK)
    tmux = make_runtimes(lab.app)["tmux"]
    call = f"tmux -S {shlex.quote(tmux.socket)}"
    made = f"{call} new-session -d -s dev 'echo $$ > \"$HEADCOUNT_HOME/pid\"; exec sleep 1000'"
    kept = f"{call} set-option -t dev: remain-on-exit on"
    start(lab, "bob", f"{READY}; {WAIT}")
    start(lab, "ann", f'test -z "$TMUX" && export HEADCOUNT_HOME && {made} && {kept} && {READY}; {WAIT}')
    assert len(_sessions(tmux.socket)) == 3
    lab.finish(lab.ask("ann"))
    assert [name for name in _sessions(tmux.socket) if not name.startswith("crew/bob/")] == []
    assert len(_sessions(tmux.socket)) == 1
    assert not [mark for mark in lab.marked() if ".ann." in mark]


def _sessions(socket: str) -> list[str]:
    return subprocess.run(
        ["tmux", "-S", socket, "list-sessions", "-F", "#{session_name}"],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
