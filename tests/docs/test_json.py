"""docs/reference/json.md shows real answers: same keys, same kinds of value as the commands give."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .pages import DOCS, read_blocks
from .reader import Reader

PAGE = DOCS / "reference/json.md"

_AGENT = """\
#!/bin/sh
[ "$HEADCOUNT_MEMBER" = cy ] && { echo unsaved > notes.txt; exec sleep 1000; }
case $HEADCOUNT_MEMBER in
  spec|quality) headcount review pass "$HEADCOUNT_TASK" ;;
  *) echo "$HEADCOUNT_MEMBER" > "$HEADCOUNT_MEMBER.txt" && git add . && git commit -q -m Work
     [ -z "$HEADCOUNT_TASK" ] || headcount done
     [ -n "$HEADCOUNT_TASK" ] || headcount send operator -s "Tabs or spaces?" -m "I cannot decide" ;;
esac
while mail=$(headcount inbox --unread --wait 60); do
  case $mail in *shutdown_request*) headcount approve && exit ;; esac
done
"""

_TEAM = """\
from headcount import Command, Team, Teammate, define_team, define_worker

ada = define_worker("ada", command=["./agent.sh"])
cy = define_worker("cy", command=["./agent.sh"])
crew = define_team("crew", [ada, cy])
doc = Command(name="crew", description="Two")[
    Team(team=crew, description="Two who work")[
        Teammate(worker=ada, description="Works", prompt="Work."),
        Teammate(worker=cy, description="Sleeps", prompt="Work."),
    ],
]
"""

_TASKS = """\
from headcount import (Command, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate, Workflow,
                       define_task, define_team, define_worker)

dan = define_worker("dan", command=["./agent.sh"])
spec = define_worker("spec", command=["./agent.sh"], role="spec-reviewer")
quality = define_worker("quality", command=["./agent.sh"], role="code-quality-reviewer")
shop = define_team("shop", [dan, spec, quality])
doc = Command(name="shop", description="One task")[
    Workflow(name="One task", team=shop, verify="true")[
        Team(team=shop, description="One works, two review")[
            Teammate(worker=dan, description="Works", prompt="Work."),
            Teammate(worker=spec, description="Compares", prompt="Compare."),
            Teammate(worker=quality, description="Reads", prompt="Read."),
        ],
        TaskPipeline(title="Steps")[TaskDef(task=define_task("Work", "work"), prompt="Work.")],
        ShutdownSequence(workers=[dan, spec, quality], reason="All tasks complete"),
    ],
]
"""

_SETTINGS = "[policy]\nanswer_timeout_s = 2\nnudge_timeout_s = 1\n"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What each command of the page answers, in a story with one escalation, one salvage and one review."""
    reader = Reader(tmp_path_factory.mktemp("json"))
    _make_repository(reader)
    try:
        yield _play(reader)
    finally:
        reader.leave_nothing()


def _make_repository(reader: Reader) -> None:
    for name, text in (
        ("agent.sh", _AGENT), ("team.py", _TEAM), ("tasks.py", _TASKS), ("headcount.toml", _SETTINGS),
    ):  # fmt: skip
        (reader.home / name).write_text(text)
    made = reader.run("git init -q . && chmod +x agent.sh && git add *.* && git commit -q -m Begin")
    assert made.returncode == 0, made.stderr


def _play(reader: Reader) -> dict[str, Any]:
    def ask(words: str) -> Any:
        return json.loads(reader.run(f"headcount {words} --json").stdout)

    answers = {"up": ask("up team.py"), "down": None}
    reader.run("headcount send ada -s Hello -m World")
    escalated = ask("down --member cy")
    answers |= {
        "status": ask("status"),
        "asks": ask("asks"),
        "todo": ask("todo"),
        "reply": _reply(ask),
        "escalations": ask("escalations"),
        "findings": ask("witness findings cy"),
        "decide": ask("decide e1 force-kill"),
        "down, joined": ask("down --member cy"),  # a decision is carried out by the engine: wait for its end
        "down": ask("down crew"),
        "salvage list": ask("salvage list"),
        "salvage verify": ask("salvage verify"),
        "report": ask("report crew"),
        "run": ask("run tasks.py"),
        "sweep": ask("sweep --dry-run"),
        "prune": ask("prune --dry-run"),
        "error": ask("down nobody"),
    }
    answers["down, escalated"] = escalated
    answers["home"] = str(reader.home)
    return answers


def _reply(ask: Callable[[str], Any]) -> Any:
    """To the question that ada has sent."""
    asked = next(need["id"] for need in ask("todo") if need["kind"] == "question")
    return ask(f"reply {asked} Spaces")


def _shown() -> dict[str, Any]:
    """The examples of the page, by the heading that they stand under."""
    text = PAGE.read_text()
    found = {}
    for block in read_blocks(PAGE):
        heading = [line for line in text.splitlines()[: block.line - 1] if line.startswith("## ")][-1]
        found[heading.removeprefix("## ").replace("`", "")] = json.loads(block.text)
    return found


def fits(page: Any, real: Any) -> bool:
    """The same keys and kinds, at every depth; null and an empty list fit everything."""
    if isinstance(page, dict) and isinstance(real, dict):
        return page.keys() == real.keys() and all(fits(page[key], real[key]) for key in page)
    if isinstance(page, list) and isinstance(real, list):
        return not page or not real or any(fits(page[0], item) for item in real)
    return page is None or real is None or isinstance(page, type(real)) or isinstance(real, type(page))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", sorted(_shown()))
def test_the_example_of_each_command_has_the_shape_of_its_real_answer(
    command: str, answers: dict[str, Any]
) -> None:
    assert command in answers, f"the page shows {command!r}, and the test does not ask for it"
    assert fits(_shown()[command], answers[command]), json.dumps(answers[command], indent=1)


@pytest.mark.timeout(300)
def test_every_answer_that_is_documented_by_the_contract_has_an_example(answers: dict[str, Any]) -> None:
    assert {"down", "down, escalated", "status", "report", "run", "escalations", "error"} <= _shown().keys()


@pytest.mark.timeout(300)
def test_every_file_of_the_state_directory_is_documented(answers: dict[str, Any]) -> None:
    page = (DOCS / "reference/files.md").read_text()
    home = Path(answers["home"]) / ".headcount"
    for path in home.rglob("*"):
        name = path.relative_to(home).parts
        known = {
            "run": "run/<mark>/", "teams": "teams/<team>/", "archive": "archive/<team>-<generation>/",
            "worktrees": "worktrees/<team>/<member>",
        }.get(name[0], name[0])  # fmt: skip
        assert f"`{known}" in page, f"{path} is in no row of files.md"
        if name[0] in ("archive", "teams") and len(name) > 2 and name[2] != "logs":
            assert path.name in page or path.name.endswith("-1.md"), f"{path} is in no row of files.md"
