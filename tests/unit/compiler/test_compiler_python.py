"""The Python source: what a file may do, and what becomes of its mistakes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from compiling import codes, markdown, messages, python

import headcount
from headcount.app.definition_files import compile_file
from headcount.compiler import language
from headcount.compiler.diagnostics import snake_case
from headcount.compiler.dialects import TEAMMATE
from headcount.compiler.lower.props import PROPS
from headcount.errors import DefinitionError

ROOT = 'doc = Command(name="x", description="d")[p["a"]]\n'


def test_places_are_the_author_s_own_line_and_column() -> None:
    compiled = python("""
        doc = Command(name="x", description="d")[
            h1["a"], Team(tem=1),
        ]
    """)
    assert {(found.span.line, found.span.column) for found in compiled.diagnostics} == {(4, 14)}


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("Team(crew)", "Team takes its props by name", "Write Team(name=value), and children"),
        ("define_worker()", "missing 1 required positional argument: 'name'", "It takes: name, type"),
        ("define_worker('a', modle='x')", "define_worker has no argument modle", "Did you mean model?"),
        ("define_worker('')", "the name of a worker must be a string", "Give it a string."),
        (
            "define_worker('a', role='boss')",
            "the role of a worker cannot be 'boss'",
            "Known here: code-quality",
        ),
        ("define_worker('a', command='ls -l')", "the command of a worker must be a list", "Write it as in"),
        ("define_worker('a', agent='x', command=['y'])", "either an agent or a command", "Remove one"),
        ("define_worker('a', p['x'])", "the type of a worker cannot be a p", "Give it a string or an Agent"),
        ("define_team('a', ['x'])", "a member of a team cannot be str 'x'", "Give it workers"),
        ("AgentType.Explor", "AgentType has no member Explor", "Did you mean Explore?"),
        ("1/0", "ZeroDivisionError: division by zero", ""),
        ("undefined", "NameError: name 'undefined' is not defined", ""),
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'", ""),
        ("from headcount import Tem", "cannot import name 'Tem'", "Did you mean Team?"),
        ("exit(3)", "The definition ended the program with exit()", "Remove the call"),
        ("input()", "EOFError", ""),
        ("def f(): f()\nf()", "The definition nests too deeply", "Look for"),
        ("while True: print('x' * 1000)", "printed more than 64 KB", "print elsewhere"),
    ],
)
def test_mistake_is_a_diagnostic_with_a_place(line: str, message: str, hint: str) -> None:
    compiled = python(f"crew = define_team('crew')\n{line}\n{ROOT}")
    found = compiled.diagnostics[0]
    assert message in found.message
    assert hint in found.hint
    assert found.span.line in (3, 4)
    assert compiled.markdown is None


def test_syntax_error_has_its_own_place() -> None:
    compiled = python("doc = Command(name='x'\n\nx = = 1\n")
    assert codes(compiled) == ["syntax"]
    assert compiled.diagnostics[0].span.line in (2, 4)


def test_several_wrong_calls_are_reported_at_once() -> None:
    compiled = python("""
        a = define_worker("a", Agent.Explore if False else AgentType.Nope)
        b = define_worker(5)
        doc = Command(name="x", description="d")[ShutdownSequence(workers=[a, b], resaon="x")]
    """)
    assert sorted(codes(compiled)) == ["unknown-enum-member", "unknown-prop", "wrong-call"]


def test_what_cannot_be_a_child_or_a_value_is_an_error() -> None:
    compiled = python("""
        crew = define_team("crew")
        doc = Command(name="x", description="d")[p[object], crew, Cleanup(team=crew, title=object)]
    """)
    assert codes(compiled) == ["wrong-child", "wrong-child", "wrong-type"]


@pytest.mark.parametrize(
    ("root", "code"),
    [
        ('Command(name="x", description="d")[Table(rows=[[10**5000]])]', "too-large"),
        ('Command(name="x", description="d", number=10**5000)["a"]', "too-large"),
        ('Command(name="x", description="d")[List(items=["a"], start="9" * 5000)]', "wrong-type"),
        ('Command(name="x", description="d")[p[10**5000]]', "python-error"),
    ],
)
def test_a_number_that_python_itself_does_not_write_out_is_an_error(root: str, code: str) -> None:
    assert codes(python(f"doc = {root}")) == [code]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "The definition has no root"),
        ("a = Command(name='a', description='d')\nb = Skill(name='b', description='d')", "has 2 roots: a, b"),
        ("doc = p['x']", "The root of a definition is a Command, an Agent or a Skill, got: p"),
    ],
)
def test_file_has_exactly_one_root(source: str, message: str) -> None:
    compiled = python(source)
    assert codes(compiled) == ["no-root"]
    assert message in messages(compiled)[0]


def test_root_is_doc_or_what_doc_makes_or_the_only_one() -> None:
    for source in (
        "other = Skill(name='b', description='d')\n" + ROOT,
        "def doc():\n    return Command(name='x', description='d')[p['a']]",
        "review = Command(name='x', description='d')[p['a']]\nsame = review",
    ):
        assert markdown(python(source)) == "a\n"


def test_printing_is_kept_apart_from_the_answer() -> None:
    compiled = python("print('hello')\n" + ROOT)
    assert compiled.printed == "hello\n"
    assert compiled.markdown is not None
    assert "hello" not in compiled.markdown


def test_agent_root_can_be_a_worker_s_type() -> None:
    compiled = python("""
        reviewer = Agent(name="reviewer", description="d")[p["x"]]
        w = define_worker("w", reviewer)
        crew = define_team("crew")
        doc = Command(name="x", description="d")[
            Team(team=crew)[Teammate(worker=w, description="d", prompt="p")]]
    """)
    assert 'subagent_type: "reviewer"' in markdown(compiled)


def test_pipeline_builder_chains_its_stages() -> None:
    compiled = python("""
        flow = create_pipeline("Flow").task("First thing to do here", prompt="a")
        flow = flow.task("Second", "two", "b").build()
        doc = Command(name="x", description="d")[TaskPipeline(title=flow.title)[
            [TaskDef(task=s.task, prompt=s.prompt, blocked_by=s.blocked_by) for s in flow.stages]]]
    """)
    written = markdown(compiled)
    assert "T1[first-thing-to]" in written
    assert 'TaskUpdate({ taskId: "2", addBlockedBy: ["1"] })' in written


def test_the_whole_language_can_be_imported_at_once() -> None:
    source = 'from headcount import *\ndoc = Command(name="x", description="y")[p["text"]]\n'
    compiled = compile_file("team.py", TEAMMATE, source.encode())
    assert markdown(compiled) == "text\n"
    names: dict[str, object] = {}
    exec("from headcount import *", names)  # as a file would
    assert set(names) - {"__builtins__"} == language.LANGUAGE


def test_language_on_its_own_raises() -> None:
    with pytest.raises(DefinitionError, match="define_worker has no argument modle"):
        language.define_worker("a", modle="x")


def test_stub_says_what_the_language_accepts() -> None:
    """`__init__.pyi` is what editors complete from; it must not drift from the tables."""
    stub = ast.parse(Path(headcount.__file__).with_suffix(".pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    kinds = {
        node.target.id: node.annotation.id
        for node in stub.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(node.annotation, ast.Name)
        and node.annotation.id in classes
    }
    assert {name for name in kinds if name not in ("Command", "Agent", "Skill")} == set(PROPS)
    for name, props in PROPS.items():
        call = next(
            item
            for item in classes[kinds[name]].body
            if isinstance(item, ast.FunctionDef) and item.name == "__call__"
        )
        assert {argument.arg for argument in call.args.kwonlyargs} == {*map(snake_case, props), "key"}, name
    names = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert names | set(kinds) | {"AgentType", "PluginAgentType", "Model", "TaskMode"} == language.LANGUAGE
