"""Frontmatter, Mermaid labels, escapes, dialects: what must hold for any text."""

from __future__ import annotations

import pytest
import yaml
from compiling import markdown, python, tsx
from hypothesis import given
from hypothesis import strategies as st

from headcount.compiler.dialects import AGENT, TEAM_TOOLS, dialect_for_version
from headcount.compiler.quoting import fence, is_plain, label, mapping, quote_text, scalar, string, template

_NOT_TEXT = "null Null ~ true yes No on off y n 1 1.5 1e3 0x1f 0o7 1_000 12:30:45 2024-01-01 .inf -.inf .nan"
_SIGNS = "- -- ? : # a: a#b a:b 'a' [a] {a} @a `a` %a &a *a !a | > << = --- ..."
_SPACES = ["", " a", "a ", "a: b", "a #b", "a\nb", "a\tb", "\x85", "\u2028", "\ufeff", "é", "😀"]
TRICKY = [*_NOT_TEXT.split(), *_SIGNS.split(), *_SPACES, '"a"']

# PyYAML refuses a document with characters that are not printable in YAML: a scalar escapes them.
values = st.one_of(st.sampled_from(TRICKY), st.text(st.characters(exclude_categories=["Cs"])))


@given(values)
def test_scalar_is_read_back_as_the_very_string(text: str) -> None:
    assert yaml.safe_load(f"k: {scalar(text)}\n") == {"k": text}


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_words_are_read_back(text: str) -> None:
    assert yaml.safe_load(f"- {scalar(text)}\n") == [text]


@pytest.mark.parametrize("text", ["Review a change", "<file> [--fast]", "Bash(git:*)", "ns:name", "a, b"])
def test_ordinary_text_stays_plain(text: str) -> None:
    assert is_plain(text)


@given(
    st.dictionaries(
        st.text(st.characters(categories=["Ll", "Nd"]), min_size=1),
        st.recursive(
            st.one_of(values, st.booleans(), st.integers()),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3).map(tuple),
                st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            ),
            max_leaves=8,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_frontmatter_is_read_back_whatever_it_holds(data: dict[str, object]) -> None:
    def listed(value: object) -> object:
        if isinstance(value, tuple):
            return [listed(item) for item in value]
        return {k: listed(v) for k, v in value.items()} if isinstance(value, dict) else value

    assert yaml.safe_load("\n".join(mapping(data)) + "\n") == listed(data)  # type: ignore[arg-type]


def test_frontmatter_of_each_root() -> None:
    command = python("""
        doc = Command(model="opus", name="x", description="Review: x", disable_model_invocation=True)[p["a"]]
    """)
    agent = python("""
        doc = Agent(model="opus", tools="Read, Grep", description="d", name="x", color="red")[p["a"]]
    """)
    skill = python('doc = Skill(description="d", allowed_tools=["Read"], name="x")[p["a"]]')
    assert command.markdown == (
        '---\nmodel: opus\nname: x\ndescription: "Review: x"\ndisable-model-invocation: true\n---\n\na\n'
    )
    assert agent.markdown == (
        "---\nname: x\ndescription: d\ntools: Read, Grep\ncolor: red\nmodel: opus\n---\n\na\n"
    )
    assert skill.markdown == "---\nname: x\ndescription: d\nallowed-tools:\n  - Read\n---\n\na\n"


def test_javascript_escapes() -> None:
    assert string('a"\\\n\r\u2028\x00\ud800é') == '"a\\"\\\\\\n\\r\\u2028\\u0000\\ud800é"'
    assert template("a`$\\\r\u2029\x001\n\té") == "`a\\`\\$\\\\\\r\\u2029\\x001\n\té`"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fetch", "fetch"),
        ("two words", "two words"),
        ('a"b', '"a#34;b"'),
        ("a[b]", '"a[b]"'),
        ("the end", '"the end"'),
        ("a\nb", "a b"),
        ("/x/", '"/x/"'),
        ("", '""'),
    ],
)
def test_mermaid_label_holds_any_name(name: str, expected: str) -> None:
    assert label(name) == expected


def test_fence_is_longer_than_any_run_inside() -> None:
    assert fence("x", "a ```` b") == "`````x\na ```` b\n`````"


@pytest.mark.parametrize("line", ["# x", "```", "~~~", "---", "===", "> x"])
def test_description_never_becomes_a_heading_or_a_fence(line: str) -> None:
    assert quote_text(f"a\n{line}") == f"> a\n> \\{line}"


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ((2, 0, 0), "teammate"),
        ((2, 1, 32), "teammate"),
        ((2, 1, 45), "team-tools"),
        ((2, 1, 177), "team-tools"),
        ((2, 1, 178), "agent"),
        ((3, 0, 0), "agent"),
    ],
)
def test_dialect_follows_the_version_of_the_client(version: tuple[int, ...], name: str) -> None:
    assert dialect_for_version(version).name == name


def test_without_task_tools_a_task_is_a_table_row_and_nothing_is_cut() -> None:
    long = "long " * 30
    compiled = tsx(f"<TaskDef task={{defineTask('t')}} prompt='{long}' />", dialect=AGENT)
    assert markdown(compiled) == (
        "| ID | Task | Description | Depends On |\n| :--- | :--- | :--- | :--- |\n"
        f"| 1 | t | {long.strip()} | - |\n"
    )


def test_cleanup_alone_in_each_dialect() -> None:
    assert "TeamDelete({})" in markdown(tsx("<Cleanup team={C} />", dialect=TEAM_TOOLS))
    assert "```" not in markdown(tsx("<Cleanup team={C} />", dialect=AGENT))


def test_task_ids_count_through_the_document() -> None:
    compiled = python("""
        a, b, c, d = (define_task(name, name) for name in "abcd")
        doc = Command(name="x", description="y")[
            TaskPipeline[TaskDef(task=a, prompt="p"), TaskDef(task=b, prompt="p")],
            TaskDef(task=c, prompt="p", blocked_by=[b]),
            TaskPipeline(auto_chain=True)[TaskDef(task=d, prompt="p", blocked_by=[a, c])],
        ]
    """)
    written = markdown(compiled)
    assert 'TaskUpdate({ taskId: "3", addBlockedBy: ["2"] })' in written
    assert 'TaskUpdate({ taskId: "4", addBlockedBy: ["1", "3"] })' in written


def test_auto_chain_puts_the_previous_task_first_unless_it_is_there() -> None:
    compiled = python("""
        a, b, c = (define_task(name, name) for name in "abc")
        doc = Command(name="x", description="y")[TaskPipeline(auto_chain=True)[
            TaskDef(task=a, prompt="p"), TaskDef(task=b, prompt="p"),
            TaskDef(task=c, prompt="p", blocked_by=[a, b])]]
    """)
    assert 'TaskUpdate({ taskId: "3", addBlockedBy: ["1", "2"] })' in markdown(compiled)


def test_what_only_run_reads_never_reaches_the_markdown() -> None:
    compiled = python("""
        bob = define_worker(
            "bob", command=["./agent.sh", "bob"], workspace="shared", finalizers=[["rm", "x"]],
            setup="npm install", copy=[".dotenv"])
        crew = define_team("crew", [bob], setup="uv sync", copy=[".netrc"])
        t = define_task("t")
        doc = Command(name="x", description="y")[Workflow(
            name="w", team=crew, verify="make-secret", max_total_lines=777, tasks_at_once=3)[
            Team(team=crew)[Teammate(worker=bob, description="d", prompt="p")],
            TaskDef(task=t, prompt="p", worker=bob, model="opus-x", metadata={"size": "huge"}),
            ShutdownSequence(workers=[bob]),
        ]]
    """)
    written = markdown(compiled)
    for hidden in (
        "agent.sh",
        "shared",
        "rm",
        "make-secret",
        "777",
        "opus-x",
        "huge",
        "npm",
        "dotenv",
        "uv sync",
        "netrc",
    ):
        assert hidden not in written.replace("confirm", "")
    assert compiled.document is not None
    workflow = compiled.document.workflows[0]
    assert (workflow.verify, workflow.max_total_lines, workflow.tasks_at_once) == ("make-secret", 777, 3)
    assert compiled.document.tasks[0].worker == compiled.document.teams[0].members[0].worker
    assert compiled.document.tasks[0].metadata == {"size": "huge"}
    assert compiled.document.tasks[0].worker.command == ("./agent.sh", "bob")
    assert compiled.document.tasks[0].worker[-2:] == ("npm install", (".dotenv",))
    assert compiled.document.teams[0].team[-2:] == ("uv sync", (".netrc",))
    assert 'subagent_type: "general-purpose"' in written
