"""One suite for the commands and one for the files of a performer, and for the fakes of the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headcount.app.adapters import LocalFiles
from headcount.runtime.commands import Commands
from tests.support.fake_adapters import FakeCommands, FakeFiles


@pytest.fixture(params=["real", "fake"])
def commands(request: pytest.FixtureRequest) -> Any:
    return Commands(64) if request.param == "real" else FakeCommands()


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("true", 0), (("true",), 0)])
def test_the_exit_code_is_the_commands_own(commands: Any, command: Any, code: int) -> None:
    assert commands.run(command, cwd="/", timeout_s=60).returncode == code


def test_what_a_command_prints_is_returned(commands: Any) -> None:
    assert commands.run(("echo", "two", "words"), cwd="/", timeout_s=60).stdout == "two words\n"


def test_a_command_that_is_missing_is_the_shells_127_or_an_error(commands: Any) -> None:
    assert commands.run("no-such-program", cwd="/", timeout_s=60).returncode == 127
    with pytest.raises(FileNotFoundError):
        commands.run(("no-such-program",), cwd="/", timeout_s=60)


def test_a_command_that_takes_too_long_is_a_timeout(commands: Any) -> None:
    with pytest.raises(TimeoutError, match=r"it took more than 0\.2 s"):
        commands.run(("sleep", "1000"), cwd="/", timeout_s=0.2)


def test_when_the_engine_leaves_nothing_begins(commands: Any) -> None:
    commands.end()
    with pytest.raises(InterruptedError):
        commands.run(("true",), cwd="/", timeout_s=60)


@pytest.fixture(params=["real", "fake"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, str]:
    home = str(tmp_path)
    return (LocalFiles() if request.param == "real" else FakeFiles(home)), home


def test_a_file_makes_its_directory_and_is_replaced(files: tuple[Any, str]) -> None:
    local, home = files
    path = f"{home}/teams/crew/state.json"
    assert not local.exists(path) and not local.is_directory(f"{home}/teams")
    local.write(path, b"old")
    local.write(path, b"new")
    local.append(path, b" and more")
    assert local.exists(path) and local.is_directory(f"{home}/teams/crew") and not local.is_directory(path)


def test_of_a_directory_only_what_is_named_stays(files: tuple[Any, str]) -> None:
    local, home = files
    for name in ("a/key", "a/b/kept/one", "a/b/other", "kept", "x/y/z"):
        local.write(f"{home}/client/{name}", b"x")
    for _ in range(2):  # a repeat after a crash
        local.keep_only(f"{home}/client", ("a/b/kept", "kept", "not/there"))
        found = ("a/key", "a/b/kept/one", "a/b/other", "kept", "x/y/z")
        assert [name for name in found if local.exists(f"{home}/client/{name}")] == ["a/b/kept/one", "kept"]
    local.keep_only(f"{home}/nothing", ())


def test_a_directory_is_written_whole_and_moved_once(files: tuple[Any, str]) -> None:
    local, home = files
    local.write_directory(f"{home}/archive/crew-1", {"receipt.json": b"{}"})
    assert local.exists(f"{home}/archive/crew-1/receipt.json")
    local.write(f"{home}/teams/crew/status.json", b"{}")
    for _ in range(2):  # a repeat after a crash
        local.move_directory(f"{home}/teams/crew", f"{home}/archive/crew-1/team")
        assert local.exists(f"{home}/archive/crew-1/team/status.json")
        assert not local.is_directory(f"{home}/teams/crew")
