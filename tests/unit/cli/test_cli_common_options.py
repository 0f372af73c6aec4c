"""What every command has stands before it or after it, and means the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.cli import command_parser, in_order, main
from headcount.errors import UsageError


@pytest.mark.parametrize(
    ("words", "same_as"),
    [
        ("--json status", "status --json"),
        ("--team crew task list", "task list --team crew"),
        ("--json task --team=crew list", "task list --json --team=crew"),
        ("salvage --json list", "salvage list --json"),
        ("--json spawn eve -- ls --json", "spawn eve --json -- ls --json"),
        ("status --json", "status --json"),
        ("--help", "--help"),
        ("--json", "--json"),
    ],
)
def test_common_options_may_stand_before_the_command(words: str, same_as: str) -> None:
    assert in_order(words.split()) == same_as.split()


@pytest.mark.parametrize("words", ["status --team crew", "down --team crew", "status crew", "report crew"])
def test_a_team_is_named_by_its_word_or_by_the_option(words: str) -> None:
    assert command_parser._parse(words.split()).team == "crew"


def test_two_teams_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="Two teams are named"):
        command_parser._parse(["down", "crew", "--team", "other"])


def test_an_unknown_option_is_told_with_the_usage_of_the_very_command() -> None:
    with pytest.raises(UsageError, match="did you mean --force") as refused:
        command_parser._parse(["down", "--forse"])
    assert refused.value.why.startswith("usage: headcount down ")


def test_help_is_also_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert "end it:" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main(["help", "down"])
    assert capsys.readouterr().out.startswith("usage: headcount down ")


@pytest.mark.parametrize(
    "words", ["status", "escalations", "down", "logs ada", "completion teams", "pause ada"]
)
def test_whoever_only_looks_leaves_no_state_behind(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADCOUNT_HOME", raising=False)
    assert main(words.split()) in (0, 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["up", "run"])
def test_a_file_that_does_not_exist_is_said_to_be_missing_and_not_to_be_wrong(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command, "nofile.py"]) == 2
    assert 'There is no file "nofile.py" [no-source]' in capsys.readouterr().err
    (tmp_path / "team.py").touch()
    main([command, "teem.py"])
    assert "Did you mean team.py?" in capsys.readouterr().err


def test_a_state_directory_that_cannot_be_made_is_told_and_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADCOUNT_HOME", str(tmp_path / "file" / "state"))
    assert main(["init"]) == 4
    shown = capsys.readouterr().err
    assert "[store-io]" in shown and "HEADCOUNT_HOME" in shown and "Traceback" not in shown


def test_the_demo_never_plays_where_somebody_has_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "team.py").write_text("mine\n")
    assert main(["demo", "--dir", str(tmp_path)]) == 2
    assert "[target-not-empty]" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["team.py"]
    assert (tmp_path / "team.py").read_text() == "mine\n"


def test_what_the_machine_refuses_is_no_bug_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(words: list[str]) -> None:
        raise PermissionError(13, "Permission denied", "/etc/shadow")

    monkeypatch.setattr(command_parser, "_parse", refused)
    assert main(["status"]) == 4
    shown = capsys.readouterr().err
    assert shown == "Error: Could not use /etc/shadow [world]\nBecause: Permission denied\n"


@pytest.mark.parametrize("words", [("salvage", "show"), ("witness", "nudge"), ("task", "create")])
def test_the_help_of_a_verb_says_what_it_does_and_what_each_word_is(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    usage, said, arguments, *_ = capsys.readouterr().out.split("\n\n")
    assert usage.startswith("usage: ") and said.endswith(".")
    assert all(len(line.split()) > 1 for line in arguments.splitlines()[1:])
