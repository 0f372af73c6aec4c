"""Expressions have the values that JavaScript gives them."""

from __future__ import annotations

import pytest
from tsx_reading import codes, only, problems, props, read, read_source, value

from headcount.compiler.element import TaskRef, TeamRef, WorkerRef


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'it\\'s'", "it's"),
        ('"a\\n\\t\\r\\b\\f\\v\\0b"', "a\n\t\r\b\f\v\0b"),
        (r"'\x41\u0042\u{43}\u{1F600}'", "ABC😀"),
        (r"'\ud83d\ude00'", "😀"),
        ("'one\\\ntwo'", "onetwo"),
        ("'one\\\r\ntwo'", "onetwo"),
        (r"'\q\\'", "q\\"),
        ("`a\\`b\\${c}\\\\`", "a`b${c}\\"),
        ("`line\r\nend`", "line\nend"),
        ("`a${1}b${'x'}c`", "a1bxc"),
        ("`${true} ${1.5}`", "true 1.5"),
    ],
)
def test_string_and_template_escapes_have_their_javascript_values(source: str, expected: str) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'' + 1", "1"),
        ("'' + 1.50", "1.5"),
        ("'' + 1e21", "1e+21"),
        ("'' + 1e-7", "1e-7"),
        ("'' + 0.000001", "0.000001"),
        ("'' + 123456789012345680000", "123456789012345680000"),
        ("'' + -0", "0"),
        ("'' + (0.1 + 0.2)", "0.30000000000000004"),
        ("'' + 1_000", "1000"),
        ("'' + 0x1F", "31"),
        ("'' + 100.0", "100"),
        ("'' + 2.5e-10", "2.5e-10"),
        ("'' + 1.25e25", "1.25e+25"),
        ("1 + 2", 3),
        ("1 + 2 + 'a' + 1 + 2", "3a12"),
        ("-1.5", -1.5),
        ("+3", 3),
    ],
)
def test_numbers_add_and_print_as_in_javascript(source: str, expected: object) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("0 && 'x'", 0),
        ("'a' && 'x'", "x"),
        ("'' || 'x'", "x"),
        ("0 ?? 'x'", 0),
        ("null ?? 'x'", "x"),
        ("undefined ?? 'x'", "x"),
        ("true ? 'a' : 'b'", "a"),
        ("!'' ? 'a' : 'b'", "a"),
        ("false || null || 'c'", "c"),
        ("true && false || 'd'", "d"),
    ],
)
def test_logical_operators_return_their_operand(source: str, expected: object) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    "cast", ["X as string", "X satisfies string", "(X)", "X!", "((X as any)!)", "X as const"]
)
def test_casts_and_parentheses_mean_what_they_enclose(cast: str) -> None:
    assert value(cast, "const X = 'x';") == "x"


@pytest.mark.parametrize("keyword", ["const", "let", "var"])
def test_every_declaration_binds_with_or_without_a_type(keyword: str) -> None:
    assert value("A + B", f"{keyword} A: string = 'a', B = /* why */ 'b';") == "ab"


def test_arrays_and_objects_spread_in_order() -> None:
    head = "const A = ['a', 'b']; const O = { x: 1, y: 2 };"
    assert value("[...A, 'c', ...A]", head) == ("a", "b", "c", "a", "b")
    assert value("({ ...O, y: 3, 'z-z': 4, [`k${1}`]: 5, A })", head) == {
        "x": 1,
        "y": 3,
        "z-z": 4,
        "k1": 5,
        "A": ("a", "b"),
    }


@pytest.mark.parametrize(
    "spelling", ["Model.Opus", "Model['Opus']", "Model[`Opus`]", "M.Opus", "M[KEY]", "(Model as any).Opus"]
)
def test_enum_members_however_spelled(spelling: str) -> None:
    assert value(spelling, "import { Model as M } from 'headcount'; const KEY = 'Opus';") == "opus"


def test_unknown_enum_member_is_reported_with_what_was_meant() -> None:
    (diagnostic,) = read("<p x={Model.Opuss} />").diagnostics
    assert diagnostic.code == "unknown-enum-member"
    assert diagnostic.hint == "Did you mean Opus?"
    assert diagnostic.text == "Model.Opuss"


def test_local_enums_have_their_values() -> None:
    head = "enum Level { Low, High = 5, Top } enum Tone { Kind = 'kind' }"
    assert value("[Level.Low, Level.High, Level.Top, Tone.Kind]", head) == (0, 5, 6, "kind")


def test_members_of_refs_and_constants() -> None:
    head = (
        "const w = defineWorker('alice', AgentType.Plan, Model.Haiku); const T = defineTeam('crew', [w]);"
        "const s = { task: defineTask('Look around') };"
    )
    assert value("[w.name, w.type, w.model, T.name, s.task.name, s.task.subject]", head) == (
        "alice",
        "Plan",
        "haiku",
        "crew",
        "look-around",
        "Look around",
    )
    assert value("T.members", head) == (WorkerRef("alice", "Plan", "haiku", 1),)
    assert value("s.task.__id", head) == "1"


def test_two_tasks_with_one_subject_are_two_tasks() -> None:
    first, second = value("[defineTask('Same'), defineTask('Same')]")  # type: ignore[misc]
    assert isinstance(first, TaskRef)
    assert isinstance(second, TaskRef)
    assert first.uid != second.uid


def test_refs_keep_their_identity_however_they_are_reached() -> None:
    head = "const A = defineWorker('a'); const Again = A as any; const All = [A, ...[Again]];"
    refs = value("[A, Again, ...All]", head)
    assert len(set(refs)) == 1  # type: ignore[arg-type]


def test_a_workers_name_type_and_model_may_be_any_constant() -> None:
    head = "const NAME = 'sec'; const KIND = PluginAgentType.SecuritySentinel; const M = Model.Haiku;"
    assert value("defineWorker(`${NAME}-1`, KIND, M)", head) == WorkerRef(
        "sec-1", "compound-engineering:review:security-sentinel", "haiku", 1
    )
    assert value("defineWorker(NAME, AgentType['Explore'])", head) == WorkerRef("sec", "Explore", None, 1)


def test_a_worker_without_a_type_is_general_purpose() -> None:
    assert value("defineWorker('a')") == WorkerRef("a", "general-purpose", None, 1)


def test_run_options_may_follow_the_name_the_type_or_the_model() -> None:
    bob = "defineWorker('bob', AgentType.Bash, { command: ['./a.sh', 'bob'], role: 'lead', workspace: 'w' })"
    assert value(bob) == WorkerRef("bob", "Bash", None, 1, None, ("./a.sh", "bob"), "lead", "w")
    assert value("defineWorker('a', { agent: 'claude', finalizers: [['make', 'clean']] })") == WorkerRef(
        "a", "general-purpose", None, 1, "claude", finalizers=(("make", "clean"),)
    )
    assert value("defineWorker('a', { setup: 'npm ci', copy: ['.env'] })") == WorkerRef(
        "a", "general-purpose", None, 1, setup="npm ci", copy=(".env",)
    )
    assert value("defineTeam('t', [], { setup: 'npm ci', copy: ['.env'] })") == TeamRef(
        "t", (), 1, "npm ci", (".env",)
    )


@pytest.mark.parametrize(
    "call",
    [
        "defineWorker()",
        "defineWorker('')",
        "defineWorker(1)",
        "defineWorker('a', 1)",
        "defineWorker('a', 'b', 3)",
        "defineWorker('a', 'b', 'c', 'd')",
        "defineWorker('a', { agnt: 'x' })",
        "defineWorker('a', { role: 'boss' })",
        "defineWorker('a', { command: 'x y' })",
        "defineWorker('a', { command: ['x'], agent: 'y' })",
        "defineWorker('a', { finalizers: 'x' })",
        "defineTeam('t', ['a'])",
        "defineTeam('t', 'a')",
        "defineTeam('t', [], 'npm ci')",
        "defineTeam('t', [], { steup: 'npm ci' })",
        "defineTeam('t', [], { copy: '.env' })",
        "defineTask('a', 'b', 'c')",
        "createPipeline('t').step('a')",
        "createPipeline('t').task('a', 'b', 3).title",
    ],
)
def test_a_wrong_argument_of_a_factory_is_reported_at_its_place(call: str) -> None:
    assert codes(f"<p x={{{call}}} />") == ["wrong-argument"]
    assert codes("<p x={R} />", f"const R = {call};") == ["wrong-argument"]


def test_a_pipeline_blocks_each_stage_by_the_one_before() -> None:
    head = "const P = createPipeline('Ship it').task('Look', 'look', 'Look well').task('Build').build();"
    assert value("[P.title, P.stages[0].prompt, P.tasks.look.subject]", head) == (
        "Ship it",
        "Look well",
        "Look",
    )
    look, build = TaskRef("Look", "look", 1), TaskRef("Build", "build", 2)
    assert value("P.stages.map(s => s.blockedBy)", head) == ((), (look,))
    assert value("P.stages.map(({ task }) => task)", head) == (look, build)


def test_a_pipeline_kept_in_a_constant_and_continued_twice_does_not_grow_twice() -> None:
    head = (
        "const P = createPipeline('x').task('A');"
        "const B = P.task('B').build(); const C = P.task('C').build();"
    )
    assert value("[B.stages.length, C.stages.length]", head) == (2, 2)


def test_a_pipeline_of_a_thousand_tasks_is_read() -> None:
    head = "const P = createPipeline('x')" + ".task('a')" * 1000 + ".build();"
    assert value("P.stages.length", head) == 1000


def test_map_gives_item_index_and_array_to_any_kind_of_callback() -> None:
    assert value("['a', 'b'].map((x, i) => x + i)") == ("a0", "b1")
    assert value("['a'].map(function (x) { const y = x + '!'; return y; })") == ("a!",)
    assert value("[['a', 'b']].map(([x, y = 'z', w = 'v']) => x + y + w)") == ("abv",)
    assert value("[{ n: 'a', deep: { m: 'b' } }].map(({ n: N, deep: { m } }) => N + m)") == ("ab",)
    assert value("[1].map(shout)", "const shout = (x: number) => `${x}!`;") == ("1!",)


def test_declarations_may_take_objects_and_arrays_apart() -> None:
    head = "const { look, ...others } = { look: 'r', plan: 'p' }; const [first, , third] = ['1', '2', '3'];"
    assert value("[look, others, first, third]", head) == ("r", {"plan": "p"}, "1", "3")


def test_a_key_that_only_some_items_of_an_array_have_is_undefined_in_the_others() -> None:
    assert value("[{ n: 'a', m: 'b' }, { n: 'c' }].map(x => x.n + (x.m ?? '-'))") == ("ab", "c-")


def test_a_member_that_nothing_has_is_reported() -> None:
    assert codes("<p x={O.b} />", "const O = { a: 1 };") == ["unknown-member"]
    assert codes("<p x={W.nam} />", "const W = defineWorker('w');") == ["unknown-member"]
    assert codes("<p x={['a'][3]} />") == ["unknown-member"]
    assert codes("<p x={null.a} />") == ["unknown-member"]


def test_optional_chaining_of_nothing_is_nothing() -> None:
    assert value("null?.a ?? 'none'") == "none"


def test_an_undefined_prop_is_no_prop_and_null_is_one() -> None:
    assert value("undefined") == "absent"
    assert value("null") is None


def test_a_reassigned_variable_is_reported_where_it_is_reassigned() -> None:
    assert problems("<p x={a} />", "let a = 1; a = 2; a += 1; a++;") == [
        "2:12 reassigned",
        "2:19 reassigned",
        "2:27 reassigned",
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "Date.now()",
        "new Date()",
        "/re/",
        "await 1",
        "(1, 2)",
        "String.raw`x`",
        "[1, , 2]",
        "missing",
        "missing.name",
        "10n",
        "'\\08'",
        "'\\ud83d'",
        "{} + 'a'",
        "`${{}}`",
        "`${undefined}`",
        "() => 1",
        "Model",
        "f()",
    ],
)
def test_what_is_not_understood_is_one_diagnostic_with_a_place_a_text_and_a_hint(expression: str) -> None:
    head = "async function f() { return 1; }"
    wrapped = f"({expression})" if expression.startswith("{") else expression
    found = read(f"<p x={{{wrapped}}} />", head).diagnostics
    if expression == "Model":
        assert found == ()  # an enum is an object
        return
    assert len(found) == 1
    assert found[0].span.line in (2, 4)
    assert found[0].text
    assert found[0].hint


def test_one_mistake_in_a_value_is_reported_once_however_often_it_is_used() -> None:
    assert codes("<p a={X} b={X + 'y'} c={[X]} d={`${X}`} e={X.y} f={X && 1} />", "const X = nope;") == [
        "unbound-name"
    ]


def test_all_mistakes_of_a_file_are_reported_together() -> None:
    assert problems("<p a={one} b={two} />\n<p c={three} />") == [
        "4:7 unbound-name",
        "4:15 unbound-name",
        "5:7 unbound-name",
    ]


def test_a_name_defined_by_itself_is_reported() -> None:
    assert codes("{a}", "const a = b; const b = `${a}`;") == ["definition-cycle"]
    assert codes("{a}", "const { a } = { a: a };") == ["definition-cycle"]


def test_a_name_declared_twice_is_reported() -> None:
    assert codes("{a}", "const a = 1; const a = 2;") == ["declared-twice"]
    assert codes("x", "const Team = 1;") == ["declared-twice"]


def test_a_factory_that_is_not_imported_is_reported_with_the_import() -> None:
    source = "export default <Command name='n' description='d'>{defineTask('x').name}</Command>"
    (found,) = read_source(source).diagnostics
    assert found.hint == "Add defineTask to the import from 'react-agentic'."


def test_background_cleanup_reason_and_model_may_be_any_constant() -> None:
    head = "const BG = false; const CL = false; const R = 'done'; const M = Model.Opus;"
    element = only(
        "<ShutdownSequence reason={`all ${R}`} cleanup={CL} model={M} background={BG} bare />", head
    )
    assert props(element) == {
        "reason": "all done",
        "cleanup": False,
        "model": "opus",
        "background": False,
        "bare": True,
    }


def test_a_team_ref_lists_its_members() -> None:
    head = "const A = defineWorker('a'); const Rest = [defineWorker('b'), defineWorker('c')];"
    team = value("defineTeam('t', [A, ...Rest])", head)
    assert isinstance(team, TeamRef)
    assert [member.name for member in team.members] == ["a", "b", "c"]
