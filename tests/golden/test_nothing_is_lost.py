"""What another compiler of this language gets wrong with exit code 0: here the right output, or an error.

One test for each item of the list; the names are the items.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from emitted import Node, Parsed

from headcount.app.definition_files import compile_file
from headcount.compiler.compile import Compiled

IMPORT = """import {
  AgentType, Command, Model, Prompt, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate, Workflow,
  createPipeline, defineTask, defineTeam, defineWorker, AgentType as Kind, Model as M,
} from 'react-agentic';
const Sec = defineWorker('sec', AgentType.Explore);
const Perf = defineWorker('perf', AgentType.Plan);
const Arch = defineWorker('arch', AgentType.Plan);
const Crew = defineTeam('crew', [Sec, Perf]);
"""


def compile_tsx(folder: Path, body: str, before: str = "", attributes: str = 'description="d"') -> Compiled:
    source = f'{IMPORT}{before}\nexport default <Command name="x" {attributes}>{body}</Command>;\n'
    (folder / "team.tsx").write_bytes(source.encode())
    return compile_file(str(folder / "team.tsx"))


def written(folder: Path, body: str, before: str = "", attributes: str = 'description="d"') -> str:
    compiled = compile_tsx(folder, body, before, attributes)
    errors = [found.render() for found in compiled.diagnostics if found.severity == "error"]
    assert compiled.markdown is not None, errors
    return compiled.markdown


def calls(node: Node, markdown: str) -> list[tuple[str, dict[str, object]]]:
    return [call for block in Parsed(markdown).blocks for call in node.calls(block)]


def asked(node: Node, markdown: str) -> list[object]:
    return [value["target_agent_id"] for _, value in calls(node, markdown) if "target_agent_id" in value]


def spawned(node: Node, markdown: str) -> list[dict[str, object]]:
    return [value for name, value in calls(node, markdown) if name == "Task"]


@pytest.mark.parametrize(
    ("workers", "before"),
    [
        ("{[Sec, ...Rest]}", "const Rest = [Perf, Arch];"),
        ("{[Sec as any, (Perf), Arch!]}", ""),
        ("{[Sec, Perf, Other]}", "import { Arch as Other } from './refs';"),
        ("{All}", "const All = [Sec, ...[Perf, Arch]] as const;"),
        ("{Crew3.members}", "const Crew3 = defineTeam('c', [Sec, Perf, Arch]);"),
    ],
)
def test_no_worker_is_dropped_from_a_shutdown(tmp_path: Path, node: Node, workers: str, before: str) -> None:
    (tmp_path / "refs.tsx").write_text(IMPORT.replace("const Arch", "export const Arch"))
    markdown = written(tmp_path, f"<ShutdownSequence workers={workers} />", before)
    assert asked(node, markdown) == ["sec", "perf", "arch"]


@pytest.mark.parametrize(
    "children",
    [
        "{ON && <TaskDef task={A} prompt='a' />}<TaskDef task={B} prompt='b' />",
        "{ON ? <TaskDef task={A} prompt='a' /> : null}<TaskDef task={B} prompt='b' />",
        "{[A, B].map((t) => <TaskDef key={t.name} task={t} prompt={t.name} />)}",
        "<><TaskDef task={A} prompt='a' /></><TaskDef task={B} prompt='b' />",
        "<TaskDef task={A} prompt='a' />{[B].map((t) => <TaskDef task={t} prompt='b' />)}",
    ],
)
def test_no_child_is_dropped(tmp_path: Path, node: Node, children: str) -> None:
    before = "const ON = true; const A = defineTask('a', 'a'); const B = defineTask('b', 'b');"
    markdown = written(tmp_path, f"<TaskPipeline>{children}</TaskPipeline>", before)
    created = [value["description"] for name, value in calls(node, markdown) if name == "TaskCreate"]
    assert created == ["a", "b"]


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        ("defineWorker(NAME, AgentType.Explore)", ("sec", "Explore", None)),
        ("defineWorker(`${NAME}-1`, AgentType['Explore'])", ("sec-1", "Explore", None)),
        ("defineWorker('w', Kind.Plan, M.Opus)", ("w", "Plan", "opus")),
        ("defineWorker('w', Kind['Plan'], M['Haiku'])", ("w", "Plan", "haiku")),
    ],
)
def test_names_types_and_models_are_evaluated(
    tmp_path: Path, node: Node, worker: str, expected: tuple[str, str, str | None]
) -> None:
    body = "<Team team={Crew}><Teammate worker={W} description='d' prompt='p' /></Team>"
    markdown = written(tmp_path, body, f"const NAME = 'sec';\nconst W = {worker};")
    task = spawned(node, markdown)[0]
    assert (task["name"], task["subagent_type"], task.get("model")) == expected


def test_values_are_not_ignored(tmp_path: Path, node: Node) -> None:
    body = (
        "<Team team={Crew}><Teammate worker={Sec} description='d' prompt={`do ${WHAT}`} model={MODEL}"
        " background={BG} /></Team><ShutdownSequence workers={[Sec]} reason={`x`} cleanup={CL} />"
    )
    before = "const WHAT = 'it', MODEL = Model.Opus, BG = false, CL = false;"
    markdown = written(tmp_path, body, before)
    task = spawned(node, markdown)[0]
    assert (task["prompt"], task["model"], task["run_in_background"]) == ("do it", "opus", False)
    operations = [value.get("operation") for _, value in calls(node, markdown)]
    assert "cleanup" not in operations
    assert calls(node, markdown)[-1][1]["reason"] == "x"


@pytest.mark.parametrize(
    "nasty", ['quo"te', "new\\nline", "carriage\\rreturn", "back\\\\slash", "a\\u2028b", "`${x}"]
)
def test_names_and_reasons_never_break_the_javascript(tmp_path: Path, node: Node, nasty: str) -> None:
    text = nasty.encode().decode("unicode_escape")
    quoted = "'" + nasty + "'"
    before = f"const W = defineWorker({quoted}, 'x'); const T = defineTeam({quoted});"
    body = (
        "<Team team={T}><Teammate worker={W} description='d' prompt='p' /></Team>"
        f"<ShutdownSequence workers={{[W]}} team={{T}} reason={{{quoted}}} />"
    )
    markdown = written(tmp_path, body, before)
    (_, created), (_, task), (_, request), _ = calls(node, markdown)
    assert (created["team_name"], task["name"]) == (text, text)
    assert (request["target_agent_id"], request["reason"]) == (text, text)


def test_lines_that_look_like_headings_stay_as_they_are_in_a_workflow(tmp_path: Path, node: Node) -> None:
    body = (
        "<Workflow name='w' team={Crew}><Team team={Crew}><Teammate worker={Sec} description='d'>"
        "<Prompt><h2>Scope</h2><pre>{'## in code'}</pre></Prompt></Teammate></Team>"
        "<pre>{'## in a fence'}</pre><ShutdownSequence workers={[Sec]} /></Workflow>"
    )
    markdown = written(tmp_path, body)
    assert spawned(node, markdown)[0]["prompt"] == "## Scope\n\n```\n## in code\n```"
    assert ("", "## in a fence\n") in Parsed(markdown).fences
    assert [level for level, _ in Parsed(markdown).headings] == [2, 3, 4, 5, 3]


def test_dependencies_have_the_ids_that_the_tasks_get(tmp_path: Path, node: Node) -> None:
    before = "const A = defineTask('a'), B = defineTask('b'), C = defineTask('c');"
    body = (
        "<TaskDef task={A} prompt='a' /><TaskPipeline><TaskDef task={B} prompt='b' />"
        "<TaskDef task={C} prompt='c' blockedBy={[A, B]} /></TaskPipeline>"
    )
    updates = [value for name, value in calls(node, written(tmp_path, body, before)) if name == "TaskUpdate"]
    assert updates == [{"taskId": "3", "addBlockedBy": ["1", "2"]}]


def test_unknown_dependencies_and_cycles_are_errors(tmp_path: Path) -> None:
    before = "const A = defineTask('a'), B = defineTask('b');"
    unknown = compile_tsx(tmp_path, "<TaskDef task={A} prompt='a' blockedBy={[B]} />", before)
    assert [found.code for found in unknown.diagnostics] == ["unknown-dependency"]
    cycle = compile_tsx(
        tmp_path,
        "<TaskDef task={A} prompt='a' blockedBy={[B]} /><TaskDef task={B} prompt='b' blockedBy={[A]} />",
        before,
    )
    assert [found.code for found in cycle.diagnostics] == ["dependency-cycle"]


def test_no_text_is_lost(tmp_path: Path) -> None:
    body = "text<p>para {WORD} &amp; &lt;b&gt;</p>tail ${'{'}HOME{'}'} {WORD}"
    markdown = written(tmp_path, body, "const WORD = 'word';")
    assert markdown.endswith("\n\ntext\n\npara word & <b>\n\ntail ${HOME} word\n")


def test_mismatched_closing_tag_is_an_error(tmp_path: Path) -> None:
    compiled = compile_tsx(tmp_path, "<p>x</q>")
    assert compiled.markdown is None
    assert compiled.diagnostics[0].span.line == 10


def test_bare_ampersand_is_text(tmp_path: Path) -> None:
    assert written(tmp_path, "<p>a & b</p>").endswith("\na & b\n")


def test_frontmatter_is_yaml(tmp_path: Path) -> None:
    markdown = written(tmp_path, "<p>a</p>", attributes='description="Review: x" argumentHint="[a] #b"')
    assert yaml.safe_load(Parsed(markdown).frontmatter) == {
        "name": "x",
        "description": "Review: x",
        "argument-hint": "[a] #b",
    }
