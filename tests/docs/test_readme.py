"""What the README tells a newcomer to type does what it says."""

from __future__ import annotations

import re
import stat
from xml.etree import ElementTree

import pytest

from .pages import ROOT, Block, read_blocks
from .reader import Reader

README = ROOT / "README.md"
RECORDING = ROOT / "docs/pictures/demo.svg"
_SVG = "{http://www.w3.org/2000/svg}"

_AGENT = """\
#!/bin/sh
while mail=$(headcount inbox --unread --wait 60); do
  case $mail in *shutdown_request*) headcount approve && exit ;; esac
done
"""


def _block(language: str, containing: str) -> Block:
    return next(b for b in read_blocks(README) if b.language == language and containing in b.text)


def _commands(block: Block) -> list[str]:
    return [line.partition("#")[0].strip() for line in block.text.splitlines()]


def _without_numbers(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\d+", "0", line)).strip()


@pytest.fixture(scope="module")
def shown_by_the_demo(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What one run of the demo prints, a line each, without numbers."""
    reader = Reader(tmp_path_factory.mktemp("demo"))
    shown = reader.run("headcount demo --dir demo")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "0 processes on this machine carry the team's mark." in shown.stdout
    return {_without_numbers(line) for line in shown.stdout.splitlines()}


@pytest.mark.timeout(240)
def test_demo_that_the_readme_starts_ends_with_proof(shown_by_the_demo: set[str]) -> None:
    assert "headcount demo" in _block("bash", "pip install").text
    printed = shown_by_the_demo
    for line in _block("text", "No agent is left").text.splitlines():
        begin = _without_numbers(line.partition("…")[0])
        assert any(one.startswith(begin) for one in printed), f"the demo does not print {line!r}"


def test_the_recording_shows_lines_that_the_demo_prints_and_is_small(shown_by_the_demo: set[str]) -> None:
    """It needs no script and no other file. What was printed in the second command is the report."""
    text = RECORDING.read_text()
    assert len(text) < 1_000_000
    assert not re.search(r"<script|href=|url\((?!#)|@import|src=", text)
    lines = [_without_numbers(line.text or "") for line in ElementTree.fromstring(text).iter(f"{_SVG}text")]
    demo = lines[
        1 : next(i for i, line in enumerate(lines) if "headcount report demo" in line and "$" in line)
    ]
    assert len(demo) > 40
    unknown = [line for line in demo if not any(line[:60] in one for one in shown_by_the_demo)]
    assert len(unknown) <= 12, unknown  # processes, and who was seen first, differ from run to run


@pytest.mark.timeout(240)
def test_commands_of_the_readme_run_on_its_own_example(reader: Reader) -> None:
    (reader.home / "team.py").write_text(_block("python", "define_team").text)
    agent = reader.home / "agent.sh"
    agent.write_text(_AGENT)
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    reader.run("git init --quiet . && git add team.py agent.sh && git commit --quiet -m Begin")
    commands = _commands(_block("bash", "headcount up team.py"))
    assert len(commands) >= 6
    for command in commands:
        done = reader.run(command)
        if command.startswith("headcount run"):  # the example has no tasks, and `up` has started its team
            assert "[team-exists]" in done.stderr or "[nothing-to-run]" in done.stderr
        else:
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def test_every_command_that_the_readme_names_exists() -> None:
    from headcount.cli import COMMANDS, HOT

    named = set(re.findall(r"\bheadcount ([a-z]+)\b", "".join(b.text for b in read_blocks(README))))
    assert named - {*COMMANDS, *HOT} <= {"import", "demo"}
