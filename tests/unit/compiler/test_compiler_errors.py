"""Each mistake is an error with the exact message, a place, and how to mend it."""

from __future__ import annotations

import pytest
from compiling import codes, messages, python, tsx

TEAMMATE = '<Teammate worker={A} description="d" prompt="p" />'

CASES = {
    "Teammate must be used inside a Team component": TEAMMATE,
    "Team only accepts Teammate children, got: p": f"<Team team={{C}}>{TEAMMATE}<p>x</p></Team>",
    "Team only accepts Teammate children, got: text": f"<Team team={{C}}>{TEAMMATE} words </Team>",
    "Team requires at least one Teammate child": "<Team team={C}></Team>",
    "Team requires a team prop": f"<Team>{TEAMMATE}</Team>",
    "Teammate requires a worker prop": '<Team team={C}><Teammate description="d" prompt="p" /></Team>',
    "Teammate requires a description prop": '<Team team={C}><Teammate worker={A} prompt="p" /></Team>',
    "Teammate requires either a <Prompt> child or prompt prop": (
        '<Team team={C}><Teammate worker={A} description="d"><Prompt>  </Prompt></Teammate></Team>'
    ),
    "ShutdownSequence requires at least one worker in the workers array": "<ShutdownSequence workers={[]} />",
    "Workflow can only contain one Team child": (
        f'<Workflow name="w" team={{C}}><Team team={{C}}>{TEAMMATE}</Team><Team team={{C}}>{TEAMMATE}</Team>'
        "<ShutdownSequence workers={[A]} /></Workflow>"
    ),
    "Workflow team prop (crew) must match Team child (other)": (
        f'<Workflow name="w" team={{C}}><Team team={{defineTeam("other")}}>{TEAMMATE}</Team></Workflow>'
    ),
    "TaskDef cannot have both a prompt prop and <Prompt> child": (
        '<TaskDef task={defineTask("t")} prompt="p"><Prompt>q</Prompt></TaskDef>'
    ),
    "TaskPipeline only accepts TaskDef children, got: p": "<TaskPipeline><p>x</p></TaskPipeline>",
    "Workflow requires a name prop": "<Workflow team={C}><p>x</p></Workflow>",
    "Prompt must be used inside a Teammate or TaskDef component": "<Prompt>x</Prompt>",
    "Team cannot be used inside Prompt": (
        '<TaskDef task={defineTask("t")}><Prompt><Team team={C}></Team>x</Prompt></TaskDef>'
    ),
    "Command is a root and cannot be used inside another component": '<Command name="a" description="b" />',
    "ul only accepts li children, got: p": "<ul><p>x</p></ul>",
    "ul cannot be used inside p": "<p>x<ul><li>y</li></ul></p>",
    "hr takes no children": "<hr>x</hr>",
    "Table row 1 has 2 cells, but there are 1 headers": "<Table headers={['a']} rows={[['b', 'c']]} />",
    "XmlBlock name 'a b' cannot be a tag": '<XmlBlock name="a b">x</XmlBlock>',
    "Team has no prop tem": f"<Team tem={{C}} team={{C}}>{TEAMMATE}</Team>",
    "Team prop team is not a team, made with defineTeam": f"<Team team={{A}}>{TEAMMATE}</Team>",
    "Team has two members with the name 'a'": f"<Team team={{C}}>{TEAMMATE}{TEAMMATE}</Team>",
    "ShutdownSequence has the worker 'a' twice": "<ShutdownSequence workers={[A, A]} />",
}


@pytest.mark.parametrize("message", CASES)
def test_mistake_is_reported_with_its_place_and_a_way_out(message: str) -> None:
    compiled = tsx(CASES[message])
    found = next((found for found in compiled.diagnostics if found.message == message), None)
    assert found is not None, messages(compiled)
    assert found.severity == "error"
    assert found.hint
    assert (found.span.file, found.span.line) == ("team.tsx", 9)
    assert found.span.column > 1
    assert compiled.markdown is None


def test_all_mistakes_of_a_file_are_reported_at_once() -> None:
    compiled = tsx(
        '<Team team={C}></Team><TaskPipeline><p>x</p></TaskPipeline><List itms={["a"]} items={[]} />'
    )
    assert codes(compiled) == ["team-empty", "pipeline-empty", "wrong-child", "unknown-prop"]


def test_unknown_prop_names_the_one_that_was_probably_meant() -> None:
    compiled = tsx('<ShutdownSequence workers={[A]} resaon="x" />')
    assert [(found.message, found.hint) for found in compiled.diagnostics] == [
        ("ShutdownSequence has no prop resaon", "Did you mean reason?")
    ]


def test_python_props_are_spelt_as_python_writes_them() -> None:
    compiled = python("""
        doc = Command(name="x", description="y")[TaskPipeline(autochain=True)[TaskDef(prompt="p")]]
    """)
    assert [(found.message, found.hint) for found in compiled.diagnostics] == [
        ("TaskPipeline has no prop autochain", "Did you mean auto_chain?"),
        ("TaskDef requires a task prop", "Add task: a task, made with define_task."),
    ]


def test_unknown_dependency_is_an_error() -> None:
    compiled = tsx(
        "<TaskDef task={T} prompt='p' blockedBy={[U]} />",
        "const T = defineTask('one', 'one'); const U = defineTask('two', 'two');",
    )
    assert messages(compiled) == ["The task 'one' is blocked by 'two', which has no TaskDef here"]


@pytest.mark.parametrize(
    ("first", "second", "named"), [("[T]", "[]", "one → one"), ("[U]", "[T]", "one → two → one")]
)
def test_dependency_cycle_is_an_error_that_names_the_way_round(first: str, second: str, named: str) -> None:
    compiled = tsx(
        f"<TaskDef task={{T}} prompt='p' blockedBy={{{first}}} />"
        f"<TaskDef task={{U}} prompt='p' blockedBy={{{second}}} />",
        "const T = defineTask('one', 'one'); const U = defineTask('two', 'two');",
    )
    assert messages(compiled) == [f"Tasks wait for each other: {named}"]


def test_auto_chain_that_closes_a_cycle_is_an_error() -> None:
    compiled = tsx(
        "<TaskPipeline autoChain><TaskDef task={T} prompt='p' blockedBy={[U]} />"
        "<TaskDef task={U} prompt='p' /></TaskPipeline>",
        "const T = defineTask('one', 'one'); const U = defineTask('two', 'two');",
    )
    assert codes(compiled) == ["dependency-cycle"]


def test_chain_of_tasks_may_be_longer_than_the_stack() -> None:
    compiled = python("""
        tasks = [define_task(f"t{n}") for n in range(3000)]
        doc = Command(name="x", description="y")[TaskPipeline(auto_chain=True)[
            [TaskDef(task=task, prompt="p") for task in tasks]]]
    """)
    assert compiled.diagnostics == ()


def test_the_same_task_twice_is_an_error() -> None:
    compiled = tsx(
        "<TaskDef task={T} prompt='p' /><TaskDef task={T} prompt='q' />",
        "const T = defineTask('one', 'one');",
    )
    assert codes(compiled) == ["duplicate-task"]


def test_prompt_vars_must_fit_the_text() -> None:
    compiled = python("""
        t = define_task("t")
        doc = Command(name="x", description="y")[TaskDef(task=t)[
            Prompt(vars={"who": "you", "unused": "x"})["Hello {{who}}, {{what}}"]]]
    """)
    assert sorted(codes(compiled)) == ["vars-unfilled", "vars-unused"]


def test_root_needs_a_name_and_a_description() -> None:
    compiled = python("doc = Skill()[p['x']]")
    assert messages(compiled) == ["Skill requires a name prop", "Skill requires a description prop"]


def test_every_code_is_explained() -> None:
    from headcount.compiler.diagnostics import CODES

    for name, body in CASES.items():
        for code in codes(tsx(body)):
            assert code in CODES, (name, code)


def test_a_required_prop_of_the_root_that_is_misspelt_is_named() -> None:
    [found] = python('doc = Command(name="x", descripton="y", model="haiku")["Go."]').diagnostics
    assert (found.code, found.hint) == ("missing-prop", "Write description, not descripton.")
    [found] = python('doc = Command(name="x", model="haiku")["Go."]').diagnostics
    assert found.hint == "Add description: a string."


def test_an_unknown_element_in_a_prompt_is_one_error() -> None:
    body = "<Team team={C}><Teammate worker={A} description='d'><Prompt><Nope/></Prompt></Teammate></Team>"
    assert messages(tsx(body)) == ["Unknown element Nope"]


def test_a_prompt_that_is_empty_is_a_warning_and_a_missing_one_an_error() -> None:
    before = "const P = createPipeline('Ship').task('Plan', 'plan', 'Plan it').task('Build').build();"
    body = "{P.stages.map(s => <TaskDef key={s.task.__id} task={s.task} prompt={s.prompt ?? ''} />)}"
    compiled = tsx(f"<TaskPipeline title={{P.title}}>{body}</TaskPipeline>", before)
    assert [(found.code, found.severity) for found in compiled.diagnostics] == [("prompt-empty", "warning")]
    assert compiled.markdown is not None
    assert 'TaskCreate({ subject: "Build", description: "" })' in compiled.markdown
    missing = tsx("<TaskPipeline><TaskDef task={defineTask('x')} /></TaskPipeline>")
    assert [(found.code, found.severity) for found in missing.diagnostics] == [("prompt-missing", "error")]


def test_the_presentational_components_are_a_closed_list() -> None:
    assert codes(tsx("<Loop max={3}><p>x</p></Loop>")) == ["unknown-element"]
    assert codes(tsx("<StatusReturn status='x'>y</StatusReturn>")) == ["misplaced"]
    assert codes(tsx("<StructuredReturns><p>x</p></StructuredReturns>")) == ["returns-empty", "wrong-child"]
    assert codes(tsx("<Role tone='x'>y</Role>")) == ["unknown-prop"]
    assert codes(tsx("<div id='x'>y</div>")) == ["unknown-prop"]
