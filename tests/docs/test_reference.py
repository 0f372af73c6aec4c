"""Every command, state and variable is on its page, and no page has one that there is not."""

from __future__ import annotations

import re
import subprocess
from enum import StrEnum
from pathlib import Path

import pytest

from headcount.cli import COMMANDS, HOT
from headcount.domain.settings import describe
from headcount.protocol import member, phase, task, team
from headcount.protocol.member import Activity, Answer
from headcount.protocol.task_list import TASK_STATUSES

from .pages import DOCS, ROOT
from .scripts import load_script

_ROW = re.compile(r"^\| `(\w+)` \|", re.M)
_VARIABLE = re.compile(r"HEADCOUNT_[A-Z][A-Z_]*[A-Z]")


def _section(page: str, heading: str) -> str:
    """The text under a heading, up to the next one."""
    text = (DOCS / "reference" / page).read_text()
    return re.split(r"^#+ ", text.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.M)[0]


def _rows(page: str, heading: str) -> list[str]:
    return _ROW.findall(_section(page, heading))


def test_commands_page_is_what_the_commands_say() -> None:
    writer = load_script("write_commands.py")
    assert writer.PAGE.read_text() == writer.render(), "run `python scripts/write_commands.py`"


def test_commands_page_has_every_command() -> None:
    page = (DOCS / "reference/commands.md").read_text()
    for name in {*COMMANDS, *HOT}:
        assert re.search(rf"^### headcount {name}\b", page, re.M), name


@pytest.mark.parametrize(
    ("heading", "states"),
    [
        ("A member", member.State),
        ("A team", team.Status),
        ("A run", phase.State),
    ],
)
def test_states_page_has_every_state_in_order(heading: str, states: type[StrEnum]) -> None:
    assert _rows("states.md", heading) == [str(state) for state in states]


def test_states_page_has_every_state_and_status_of_a_task() -> None:
    assert _rows("states.md", "A task of a run") == [*map(str, task.State), *TASK_STATUSES]


def test_states_page_has_every_outcome() -> None:
    """Those are words in the code, and no enum."""
    source = (ROOT / "src/headcount/protocol/member.py").read_text()
    rows = _rows("states.md", "How it ended")
    assert rows
    for word in rows:
        assert re.search(rf"\b{word}\b", source), f"nothing in the code is {word}"


def test_states_page_has_every_answer_and_activity() -> None:
    assert _rows("states.md", "What a running member does") == [str(activity) for activity in Activity]
    assert set(_rows("states.md", "How it answered")) == {str(answer) for answer in Answer}


def test_environment_page_has_every_variable_of_the_source() -> None:
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", "check", ".ci", "scripts"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    settings = {key.variable for key in describe() if key.variable}
    used = {name for file in files for name in _VARIABLE.findall(_read(ROOT / file))} - settings
    documented = set(_VARIABLE.findall((DOCS / "reference/environment.md").read_text()))
    assert used - documented == set()
    assert documented - used - settings == {"HEADCOUNT_POLICY", "HEADCOUNT_INTEGRATION", "HEADCOUNT_GATES",
                                            "HEADCOUNT_LIMITS", "HEADCOUNT_BUILD"}  # fmt: skip


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def test_troubleshooting_names_codes_that_exist() -> None:
    from headcount.app.explain import read_pages

    named = re.findall(r"`\[([a-z-]+)\]`", (DOCS / "troubleshooting.md").read_text())
    assert len(named) > 10
    assert set(named) <= read_pages().keys()
