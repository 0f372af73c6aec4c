"""Every emitted JavaScript block parses and evaluates to exactly the strings of the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from emitted import Node, Parsed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.app.definition_files import compile_file
from headcount.compiler import language as hc
from headcount.compiler.diagnostics import Report
from headcount.compiler.dialects import AGENT, DIALECTS, TEAM_TOOLS, TEAMMATE, Dialect
from headcount.compiler.lower import lower
from headcount.compiler.markdown_writer import write_markdown

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*/team.py"))
SCHEMAS = json.loads((Path(__file__).parent / "claude_tools.json").read_text())

NASTY = [
    "'",
    '"',
    "\\",
    "`",
    "```",
    "${",
    "$",
    "}",
    "\n",
    "\r",
    "\r\n",
    "\u2028",
    "\u2029",
    "\x00",
    "\x1b",
    "\t",
]
PIECES = [
    *NASTY,
    "😀",
    "\ud800",
    "é",
    "%s",
    "%",
    "{{x}}",
    "## x",
    "---",
    "~~~",
    "> ",
    "*/",
    "//",
    "</script>",
]

pieces = st.sampled_from(PIECES)
texts = st.lists(st.one_of(pieces, pieces, pieces, st.text(max_size=8)), min_size=1, max_size=6).map("".join)
words = texts.filter(lambda text: bool(text.strip()))
prompts = words.filter(lambda text: bool(text.strip(" \t\r\n\f")))


@st.composite
def workflows(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(words, min_size=1, max_size=3, unique=True))
    return {
        "title": draw(words),
        "team": draw(words),
        "described": draw(st.one_of(st.just(""), words)),
        "members": [
            {"name": name, "type": draw(words), "description": draw(words), "prompt": draw(prompts)}
            for name in names
        ],
        "tasks": [
            {"subject": draw(words), "prompt": draw(prompts), "activeForm": draw(words)}
            for _ in range(draw(st.integers(1, 3)))
        ],
        "reason": draw(words),
    }


def emit(spec: dict[str, Any], dialect: Dialect) -> str:
    team = hc.define_team(spec["team"])
    workers = [hc.define_worker(member["name"], member["type"]) for member in spec["members"]]
    tasks = [hc.define_task(task["subject"]) for task in spec["tasks"]]
    root = hc.Command(name=spec["title"], description=spec["title"])[
        hc.Workflow(name=spec["title"], team=team, description=spec["described"])[
            hc.Team(team=team, description=spec["described"])[
                [
                    hc.Teammate(worker=worker, description=member["description"], prompt=member["prompt"])
                    for worker, member in zip(workers, spec["members"], strict=True)
                ]
            ],
            hc.TaskPipeline(title=spec["title"], auto_chain=True)[
                [
                    hc.TaskDef(task=ref, prompt=task["prompt"], active_form=task["activeForm"])
                    for ref, task in zip(tasks, spec["tasks"], strict=True)
                ]
            ],
            hc.ShutdownSequence(workers=workers, reason=spec["reason"]),
        ]
    ]
    report = Report(python=True)
    document = lower(root.freeze(), report)
    assert document is not None, report.items
    return write_markdown(document, dialect)


def expected_calls(spec: dict[str, Any], dialect: Dialect) -> list[tuple[str, Any]]:
    calls: list[tuple[str, Any]] = []
    described = {"description": spec["described"]} if spec["described"] else {}
    if dialect is TEAMMATE:
        calls.append(("Teammate", {"operation": "spawnTeam", "team_name": spec["team"], **described}))
    elif dialect is TEAM_TOOLS:
        calls.append(("TeamCreate", {"team_name": spec["team"], **described}))
    for member in spec["members"]:
        told = {} if dialect is AGENT else {"team_name": spec["team"]}
        calls.append((dialect.spawn, {**told, **_spawned(member)}))
    if dialect is not AGENT:
        calls += [("TaskCreate", {**task, "description": task["prompt"]}) for task in spec["tasks"]]
        for _, created in calls:
            if "subject" in created:
                del created["prompt"]
        calls += [
            ("TaskUpdate", {"taskId": str(n), "addBlockedBy": [str(n - 1)]})
            for n in range(2, len(spec["tasks"]) + 1)
        ]
    for member in spec["members"]:
        calls.append(_asked(member["name"], spec["reason"], dialect))
    if dialect is TEAMMATE:
        calls.append(("Teammate", {"operation": "cleanup"}))
    elif dialect is TEAM_TOOLS:
        calls.append(("TeamDelete", {}))
    return calls


def _spawned(member: dict[str, str]) -> dict[str, Any]:
    return {
        "name": member["name"],
        "subagent_type": member["type"],
        "description": member["description"],
        "prompt": member["prompt"],
        "run_in_background": True,
    }


def _asked(name: str, reason: str, dialect: Dialect) -> tuple[str, Any]:
    if dialect is TEAMMATE:
        return "Teammate", {"operation": "requestShutdown", "target_agent_id": name, "reason": reason}
    return "SendMessage", {"to": name, "message": {"type": "shutdown_request", "reason": reason}}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=workflows())
def test_blocks_evaluate_to_the_strings_of_the_source(
    node: Node, dialect: Dialect, spec: dict[str, Any]
) -> None:
    parsed = Parsed(emit(spec, dialect))
    calls = [call for block in parsed.blocks for call in node.calls(block)]
    assert calls == expected_calls(spec, dialect)


@settings(max_examples=120)
@given(spec=workflows())
def test_generated_documents_have_exactly_their_own_fences_and_headings(spec: dict[str, Any]) -> None:
    parsed = Parsed(emit(spec, TEAMMATE))
    members = len(spec["members"])
    infos = [info for info, _ in parsed.fences]
    assert infos == ["javascript"] * (1 + members) + ["mermaid", "javascript", "javascript"]
    assert parsed.levels == [2, 3, 4] + [5] * members + [3, 3]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("source", CORPUS, ids=lambda path: path.parent.name)
def test_every_block_of_the_corpus_parses(node: Node, dialect: Dialect, source: Path) -> None:
    compiled = compile_file(str(source), dialect)
    assert compiled.markdown is not None
    parsed = Parsed(compiled.markdown)
    assert {info for info, _ in parsed.fences} <= {"javascript", "mermaid"}
    for block in parsed.blocks:
        node.calls(block)


@pytest.mark.parametrize(("dialect", "version"), [(TEAM_TOOLS, "2.1.177"), (AGENT, "2.1.325")])
@pytest.mark.parametrize("source", CORPUS, ids=lambda path: path.parent.name)
def test_calls_are_valid_for_the_clients_schemas(
    node: Node, dialect: Dialect, version: str, source: Path
) -> None:
    compiled = compile_file(str(source), dialect)
    assert compiled.markdown is not None
    for block in Parsed(compiled.markdown).blocks:
        for name, value in node.calls(block):
            if value.get("model") == "claude-3-7-sonnet":
                continue  # a free-form model, which these clients do not accept
            jsonschema.validate(value, SCHEMAS[version][name])
