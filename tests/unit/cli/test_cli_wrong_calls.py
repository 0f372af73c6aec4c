"""A wrong call is told in the same words, and the same JSON, as every other error."""

from __future__ import annotations

import json

import pytest

from headcount import __version__
from headcount.cli import command_parser
from headcount.cli.command_parser import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["upp"], "did you mean up?"),
        (["inbx"], "did you mean inbox?"),
        (["logs"], "MEMBER is missing"),
        (["salvage", "lst"], "invalid choice: 'lst'"),
        (["status", "a", "b"], "Unexpected 'b'"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_exits_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Error: ") and said in shown.err and "Hint: See" in shown.err


def test_a_wrong_call_with_json_answers_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "--json"]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["error"]["code"] == "usage"
    assert shown.err == ""


def test_what_stands_after_two_dashes_is_the_members_command_whatever_stands_before() -> None:
    args = command_parser._parse(["spawn", "eve", "--prompt", "Look", "--", "sh", "-c", "true", "--team"])
    assert (args.name, args.prompt, args.words) == ("eve", "Look", ["sh", "-c", "true", "--team"])


def test_a_bug_of_ours_exits_70_with_its_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(words: list[str]) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(command_parser, "_parse", broken)
    assert main(["status", "--json"]) == 70
    shown = capsys.readouterr()
    error = json.loads(shown.out)["error"]
    assert (error["code"], error["why"]) == ("bug", "ZeroDivisionError: by zero")
    assert error["what"] == f"headcount {__version__} has a bug"
    assert "Traceback" in shown.err


def test_help_of_a_command_with_verbs_tells_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    from headcount.cli import main as headcount

    assert headcount(["review", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "review pass TASK" in shown and "review changes TASK" in shown
    assert headcount(["review"]) == 2
    assert "after review comes pass or changes" in capsys.readouterr().err
