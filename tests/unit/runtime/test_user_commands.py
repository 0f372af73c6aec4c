"""Commands of the user: with the limit that the user has, as they were written, and never left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from headcount.runtime.commands import Commands

OURS = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
FEWER = 64


@pytest.fixture(params=[OURS, FEWER], ids=["as it is", "given back"])
def commands(request: pytest.FixtureRequest) -> Commands:
    """Nothing but the limit may differ between the two."""
    return Commands(request.param)


@pytest.mark.parametrize("command", ["ulimit -S -n", ("sh", "-c", "ulimit -S -n")], ids=["text", "list"])
def test_a_command_has_as_many_files_as_it_was_said(command: str | tuple[str, ...], tmp_path: Path) -> None:
    done = Commands(FEWER).run(command, cwd=str(tmp_path), timeout_s=20)
    assert done.stdout == f"{FEWER}\n"
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == OURS


def test_words_input_and_exit_code_are_its_own(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "tell").write_text('#!/bin/sh\nprintf "<%s>" "$0" "$@"; cat; exit 7\n')
    (tmp_path / "tell").chmod(0o755)
    argv = ["./tell", "two words", "$HOME", "", "-n", "a\nb"]
    done = commands.run(argv, cwd=str(tmp_path), timeout_s=20, given="said\n")
    assert (done.returncode, done.stdout) == (7, "<./tell><two words><$HOME><><-n><a\nb>said\n")


def test_a_program_that_is_missing_is_an_error_and_no_exit_code(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("no program\n")
    for program, error in (
        ("no-such-program", FileNotFoundError),
        ("./nowhere", FileNotFoundError),
        ("./plain.txt", PermissionError),
    ):
        with pytest.raises(error, match=program):
            commands.run([program], cwd=str(tmp_path), timeout_s=20)


def test_a_program_is_looked_for_where_the_given_environment_says(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mine").write_text("#!/bin/sh\necho here\n")
    (tmp_path / "bin/mine").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"}
    assert commands.run(["mine"], cwd="/", timeout_s=20, env=env).stdout == "here\n"


def test_a_text_that_names_nothing_ends_as_the_shell_says(commands: Commands, tmp_path: Path) -> None:
    assert commands.run("no-such-program", cwd=str(tmp_path), timeout_s=20).returncode == 127


def test_whatever_it_started_ends_with_its_time(commands: Commands, tmp_path: Path) -> None:
    command = "sleep 1000 & echo $! > child; wait"
    with pytest.raises(TimeoutError, match=r"it took more than 0\.5 s"):
        commands.run(command, cwd=str(tmp_path), timeout_s=0.5)
    _wait_gone(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize(
    "leave",
    [
        "sleep 1000 & echo $! > child",
        "sleep 1000 > /dev/null 2>&1 & echo $! > child",
        "setsid sh -c 'sleep 1000 & echo $! > child; wait' & while ! test -s child; do sleep 0.01; done",
        "(setsid sh -c 'trap \"\" HUP TERM; sleep 1000 & echo $! > child' &) ; "
        "while ! test -s child; do sleep 0.01; done",
    ],
    ids=["in the background", "without output", "in a session of its own", "as a daemon"],
)
def test_what_it_leaves_behind_is_ended_and_not_waited_for(
    commands: Commands, tmp_path: Path, leave: str
) -> None:
    done = commands.run(f"{leave}; echo over; exit 3", cwd=str(tmp_path), timeout_s=60)
    assert (done.returncode, done.stdout) == (3, "over\n")
    _wait_gone(int((tmp_path / "child").read_text()))


def test_a_command_that_a_signal_ended_says_so(commands: Commands, tmp_path: Path) -> None:
    assert commands.run("kill -TERM $$", cwd=str(tmp_path), timeout_s=20).returncode == -signal.SIGTERM


def test_signals_are_answered_as_a_program_of_its_own_would(commands: Commands, tmp_path: Path) -> None:
    """Python ignores SIGPIPE, and whoever goes along with a command ignores what ends a session."""
    ignored = commands.run("grep SigIgn /proc/self/status", cwd=str(tmp_path), timeout_s=20).stdout.split()[1]
    assert int(ignored, 16) == 0


def test_it_does_not_outlive_an_engine_that_was_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "began")
    engine = """\
import sys
from headcount.runtime.commands import Commands
Commands(64).run("setsid sleep 1000 & echo $! $$ > began; wait", cwd=sys.argv[1], timeout_s=600)
"""
    with subprocess.Popen([sys.executable, "-c", engine, str(tmp_path)]) as process:
        began = (tmp_path / "began").read_text()
        process.kill()
    for pid in began.split():
        _wait_gone(int(pid))


def test_when_the_engine_leaves_what_runs_is_ended_and_nothing_is_begun(
    commands: Commands, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "began")
    raised: list[BaseException] = []

    def run() -> None:
        try:
            commands.run("echo $$ > began; exec sleep 1000", cwd=str(tmp_path), timeout_s=60)
        except InterruptedError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    child = int((tmp_path / "began").read_text())
    commands.end()
    thread.join(20)
    assert raised
    _wait_gone(child)
    with pytest.raises(InterruptedError):
        commands.run("true", cwd=str(tmp_path), timeout_s=20)


def _wait_gone(pid: int) -> None:
    """A child of a child is taken in by whoever does that here, at some moment."""
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}") and not _is_dead(pid):
        assert time.monotonic() < deadline, f"{pid} lives on"
        time.sleep(0.01)


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True
