"""Every command that a text of ours tells a person to type is one that the command line takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from headcount.cli import COMMANDS, HOT, _is_hot, command_parser
from headcount.cli.member.command_table import COMMANDS as MEMBERS
from headcount.errors import UsageError

SOURCE = Path(__file__).parents[3] / "src" / "headcount"
_CALL = re.compile(r"`((?:headcount|hc) [^`\n]*)`")
# Placeholders stand for names; where the kind of the word matters, a word of that kind is put there.
_OF_KIND = {"SECONDS": "1", "N": "1", "PID": "1"}


def find_calls() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.toml")]):
        for call in _CALL.findall(path.read_text(encoding="utf-8")):
            found.setdefault(call, str(path.relative_to(SOURCE)))
    return found


def as_words(call: str) -> list[str]:
    text = re.sub(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", "x", call).replace("\\", "")
    text = re.sub(r"[\[\]]", "", text.partition(" && ")[0]).replace("…", "").replace("<", "").replace(">", "")
    words = shlex.split(text)[1:]
    return [_OF_KIND.get(word, word.partition("|")[0]) for word in words]


CALLS = {
    call: path for call, path in find_calls().items() if len(as_words(call)) > 1 and "COMMAND" not in call
}


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_command_in_a_text_can_be_typed(call: str) -> None:
    words = as_words(call)
    if words[0] == "x":
        return  # the name of a command is filled in
    assert words[0] in (*COMMANDS, *HOT), f"{CALLS[call]}: there is no such command"
    if _is_hot(words):
        name = " ".join(words[:2]) if " ".join(words[:2]) in MEMBERS else words[0]
        spec = MEMBERS[name][0]
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        known = {*spec.names, *spec.flags, "--json", "--team", "--help"}
        assert options <= known, CALLS[call]
        return
    if "--help" in words or call.endswith("…"):
        return
    try:
        command_parser._parse(words)
    except UsageError as error:
        # A text may name a command without what it needs, but nothing that it does not have.
        assert "is missing" in error.what, f"{CALLS[call]}: {error.what}"
