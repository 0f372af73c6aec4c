"""Elements, text and components come out whole."""

from __future__ import annotations

import pytest
from tsx_reading import children, codes, only, problems, props, read, read_source, shape, shapes, value

from headcount.compiler.element import Element, Text


def texts(body: str, head: str = "") -> list[tuple[str, bool]]:
    return [(child.value, child.verbatim) for child in children(body, head) if isinstance(child, Text)]


def test_jsx_text_keeps_its_layout_and_strings_are_verbatim() -> None:
    assert texts("one\n   two {'three  '}{`four`}{5}") == [
        ("\none\n   two ", False),
        ("three  ", True),
        ("four", True),
        ("5", True),
    ]


def test_white_space_with_a_line_break_between_children_is_layout_and_a_blank_is_text() -> None:
    assert shapes("<b>a</b> <i>b</i>\n   <u>c</u>") == [("b", ["a"]), " ", ("i", ["b"]), ("u", ["c"])]


def test_false_null_undefined_and_the_empty_string_are_nothing_and_zero_is_text() -> None:
    assert shapes("{false}{null}{undefined}{''}{true}{0}") == ["0"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("&amp;&lt;&gt;&quot;&apos;", "&<>\"'"),
        ("&copy; &hellip; &Eacute;", "© … É"),
        ("&#65;&#x42;&#128512;", "AB😀"),
        ("&frac12;", "½"),
        ("&nosuch; &; &#; &#xD800; &#1114112;", "&nosuch; &; &#; &#xD800; &#1114112;"),
        ("R&D, a && b, c & d", "R&D, a && b, c & d"),
    ],
)
def test_entities_are_decoded_in_text_and_in_attributes(source: str, expected: str) -> None:
    element = only(f'<p a="{source.replace(chr(34), "")}">{source}</p>')
    assert props(element)["a"] == expected
    assert shape(element) == ("p", [expected])


def test_white_space_that_an_entity_spells_is_verbatim_and_everything_else_is_not() -> None:
    element = only("<p>a &amp;\n  &lt; b&nbsp;c&#10;d</p>")
    found = [(child.value, child.verbatim) for child in element.children if isinstance(child, Text)]
    assert found == [
        ("a &\n  < b", False),
        ("\u00a0", True),
        ("c", False),
        ("\n", True),
        ("d", False),
    ]


def test_attribute_strings_decode_entities_and_keep_backslashes() -> None:
    assert props(only(r"""<p a="C:\temp\n &quot;x&quot;" b='it"s' />""")) == {
        "a": 'C:\\temp\\n "x"',
        "b": 'it"s',
    }


def test_text_that_looks_like_a_comment_or_code_is_text() -> None:
    text = '// not a comment /* nor this */ http://x.y it\'s "quoted" $PATH `tick` = ; const a'
    assert shapes(f"<p>{text}</p>") == [("p", [text])]


def test_a_dollar_and_braces_in_jsx_text_is_an_expression_which_must_be_bound() -> None:
    assert codes("<p>${HOME}</p>") == ["unbound-name"]


def test_comments_in_braces_and_in_tags_are_nothing() -> None:
    assert shapes("{/* one */}<p /* two */ a='b' // three\n>x{/* four */}{}</p>") == [("p", ["x"])]


def test_children_from_conditions_maps_and_fragments_stand_beside_the_others() -> None:
    head = "const YES = true; const NO = false; const list = ['1', '2'];"
    body = (
        "<a/>{YES && <b/>}{NO && <u/>}{NO ? <u/> : <c/>}{list.map(x => <d key={x}>{x}</d>)}"
        "<><e/><><f/>text</></>{[<g/>, 'h']}{...[<i/>]}"
    )
    assert shapes(body, head) == [
        ("a", []),
        ("b", []),
        ("c", []),
        ("d", ["1"]),
        ("d", ["2"]),
        ("e", []),
        ("f", []),
        "text",
        ("g", []),
        "h",
        ("i", []),
    ]


def test_text_around_a_paragraph_is_kept() -> None:
    assert shapes("text<p>para</p>tail") == ["\ntext", ("p", ["para"]), "tail\n"]


def test_reacts_fragment_is_a_fragment() -> None:
    head = "import React, { Fragment as F } from 'react';"
    assert shapes("<React.Fragment><a/></React.Fragment><F key='k'><b/></F>", head) == [("a", []), ("b", [])]


def test_aliased_and_namespaced_components_have_their_own_name() -> None:
    head = "import { Team as T } from 'react-agentic/swarm'; import * as RA from 'headcount';"
    assert shapes("<T><RA.Teammate/></T>", head) == [("Team", [("Teammate", [])])]


def test_a_component_that_nobody_knows_stays_in_the_tree_under_its_name() -> None:
    assert shapes("<Nope><nope-nope/></Nope>") == [("Nope", [("nope-nope", [])])]


def test_a_tag_that_is_bound_to_something_else_than_a_component_is_reported() -> None:
    assert codes("<W/>", "const W = defineWorker('w');") == ["not-a-component"]


def test_spread_props_come_in_order_and_the_last_value_wins_in_the_first_place() -> None:
    head = "const common = { a: 1, b: 2 }; const Key = 'z';"
    element = only("<p b='0' {...common} c {...{ a: 3, [Key]: 4 }} {...undefined} />", head)
    assert list(props(element).items()) == [("b", 2), ("a", 3), ("c", True), ("z", 4)]


def test_key_is_evaluated_and_is_no_prop() -> None:
    assert props(only("<p key='x' a='b' />")) == {"a": "b"}
    assert codes("<p key={nope} />") == ["unbound-name"]


def test_a_prop_given_twice_is_reported_at_the_second() -> None:
    assert problems("<p a='1' b='2' a='3' />") == ["4:16 duplicate-prop"]


def test_props_and_elements_have_their_places() -> None:
    element = only("  <Team a='b'\n    c={1}\n    dd='x'>\n    <p>é <b x='y'/></p></Team>")
    assert [(p.name, p.span.line, p.span.column) for p in element.props] == [
        ("a", 4, 9),
        ("c", 5, 5),
        ("dd", 6, 5),
    ]
    paragraph = element.children[0]
    assert isinstance(paragraph, Element)
    assert paragraph.span[1:] == (7, 5)
    bold = paragraph.children[1]
    assert isinstance(bold, Element)
    assert bold.span[1:] == (7, 10)  # columns are characters: é is two bytes
    assert bold.props[0].span[1:] == (7, 13)


def test_an_element_as_a_prop_is_an_element_and_a_fragment_has_no_name() -> None:
    element = value("<b>x</b>")
    assert isinstance(element, Element)
    assert shape(element) == ("b", ["x"])
    fragment = value("<>a<b/></>")
    assert isinstance(fragment, Element)
    assert shape(fragment) == ("", ["a", ("b", [])])


def test_the_children_prop_is_children() -> None:
    assert shapes("<p children='x' /><p children={[<b/>, 'y']} />") == [("p", ["x"]), ("p", [("b", []), "y"])]


@pytest.mark.parametrize(
    "component",
    [
        "const C = ({ topic, children }: { topic: string; children?: any }) => <p>{topic}{children}</p>;",
        "const C = (props: any) => <p>{props.topic}{props.children}</p>;",
        "function C({ topic: t, ...rest }) { return <p>{t}{rest.children}</p>; }",
        "const C = function ({ topic, children }) { return (<p>{topic}{children}</p>); };",
        "const C = ({ ...all }) => { const { topic, children } = all; return <p>{topic}{children}</p>; };",
        "const In = ({ children }) => <p>{children}</p>; const C = (p) => <In>{p.topic}{p.children}</In>;",
    ],
)
def test_components_of_every_form_expand_with_props_and_children(component: str) -> None:
    assert shapes("<C topic='sql'><b>x</b>y</C>", component) == [("p", ["sql", ("b", ["x"]), "y"])]


def test_defaults_apply_to_props_that_are_not_given_and_null_is_given() -> None:
    head = "const C = ({ a = 'A', b = a + 'B' }) => <p>{a}{b}</p>;"
    assert shapes("<C/><C a='x'/><C a={undefined} b={null}/>", head) == [
        ("p", ["A", "AB"]),
        ("p", ["x", "xB"]),
        ("p", ["A"]),
    ]


def test_rest_props_are_spread_on() -> None:
    head = "const C = ({ a, ...rest }) => <p {...rest}>{a}</p>;"
    element = only("<C a='x' b='y' c />", head)
    assert (props(element), shape(element)) == ({"b": "y", "c": True}, ("p", ["x"]))


def test_render_props_are_called() -> None:
    head = "const C = ({ children, item }) => <ul>{children('a')}{item('b')}</ul>;"
    assert shapes("<C item={x => <li>{x}</li>}>{x => <b>{x}</b>}</C>", head) == [
        ("ul", [("b", ["a"]), ("li", ["b"])])
    ]


def test_a_function_as_the_child_of_a_built_in_is_called_with_its_props() -> None:
    assert shapes("{ctx => <><h1>{ctx.name}</h1>{ctx.description}</>}") == [("h1", ["n"]), "d"]


def test_text_children_given_on_as_a_prop_are_one_string_as_in_react() -> None:
    head = "const C = ({ children }) => <Teammate prompt={children} />; const N = 3;"
    assert props(only("<C>\n  Look at {N}\n  files &amp; more.\n</C>", head)) == {
        "prompt": "Look at 3files & more."
    }


def test_components_may_define_refs_which_are_new_for_each_use() -> None:
    head = "const C = ({ n }) => { const w = defineWorker(n); return <p w={w} again={w} />; };"
    first, second = (props(e) for e in children("<C n='a'/><C n='a'/>", head) if isinstance(e, Element))
    assert first["w"] == first["again"]
    assert first["w"] != second["w"]


def test_a_component_without_a_return_is_reported() -> None:
    assert codes("<C/>", "function C() { const x = 1; }") == ["not-understood"]


def test_props_and_children_that_a_component_does_not_use_are_reported_not_lost() -> None:
    assert problems("<C topik='x' />", "const C = ({ topic }) => <p>{topic}</p>;") == ["4:4 unknown-prop"]
    assert codes("<C>lost</C>", "const C = () => <p/>;") == ["unknown-prop"]
    assert codes("<C a='x'>kids</C>", "const C = (props) => <p>{props.children}</p>;") == ["unknown-prop"]


def test_a_worker_among_children_is_reported_with_the_way_out() -> None:
    (diagnostic,) = read("<p>{W}</p>", "const W = defineWorker('w');").diagnostics
    assert (diagnostic.code, diagnostic.hint) == ("not-a-child", "Write {W.name} for its name.")


@pytest.mark.parametrize(
    "prompt",
    [
        "<Teammate prompt={`Review ${files} now`} />",
        "<Teammate><Prompt>{`Review ${files} now`}</Prompt></Teammate>",
        "<Teammate><Prompt><p>{'Review ' + `${files} now`}</p></Prompt></Teammate>",
        "<Teammate prompt={TEXT} />",
        "<Teammate><Prompt>{PARA}</Prompt></Teammate>",
        "<TaskDef prompt={P.stages[0].prompt} />",
    ],
)
def test_an_unbound_name_in_a_prompts_template_stays_as_text(prompt: str) -> None:
    head = (
        "const TEXT = `Review ${files} now`; const PARA = <p>{TEXT}</p>;"
        "const P = createPipeline('x').task('a', 'b', TEXT).build();"
    )
    found = read(prompt, head)
    assert found.diagnostics == ()
    assert "Review ${files} now" in str(found.root)


@pytest.mark.parametrize(
    "other",
    [
        "<Team description={`for ${files}`} />",
        "<p>{`for ${files}`}</p>",
        "<p x={defineWorker(`w-${files}`)} />",
        "<p>{`for ${files.name}`}</p>",
        "<Teammate prompt={`${free}`.trim()} />",
    ],
)
def test_an_unbound_name_in_any_other_template_is_reported(other: str) -> None:
    assert codes(other) == ["unbound-name"]


def test_a_bound_name_in_a_prompts_template_is_its_value() -> None:
    head = "const files = 'a.py'; const C = ({ n }) => <Teammate prompt={`${files} ${n} ${free}`} />;"
    assert props(only("<C n={3} />", head)) == {"prompt": "a.py 3 ${free}"}


@pytest.mark.parametrize(
    "export",
    [
        "export default <Command name='n' />;",
        "export default (<Command name='n' />);",
        "export default () => <Command name='n' />;",
        "export default () => { return <Command name='n' />; };",
        "export default function () { return <Command name='n' />; }",
        "export default function Doc() { return <Command name='n' />; }",
        "const doc = <Command name='n' />; export default doc;",
        "const doc = <Command name='n' />; export { doc as default };",
        "export const doc = <Command name='n' />; export const other = 'x';",
        "export const doc = () => <Command name='n' />;",
        "export function doc() { return <Command name='n' />; }",
        "export default <><Command name='n' /></>;",
        "export default <Command name='n' /> as any;",
        "import { Command as C } from 'headcount'; export const doc: any = (<C name='n' />);",
    ],
)
def test_the_root_may_be_exported_as_element_arrow_or_function(export: str) -> None:
    source = export if "import" in export else f"import {{ Command }} from 'react-agentic'; {export}"
    found = read_source(source)
    assert found.diagnostics == ()
    assert found.root is not None
    assert (found.root.name, props(found.root)) == ("Command", {"name": "n"})


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", "no-root"),
        ("const x = 1;", "no-root"),
        ("export default 'x';", "no-root"),
        ("export default <Team />;", "no-root"),
        ("const Doc = <Command />;", "no-root"),
        ("export const a = <Command />; export const b = <Skill />;", "many-roots"),
    ],
)
def test_a_file_without_one_root_is_reported(source: str, code: str) -> None:
    found = read_source(source)
    assert found.root is None
    assert [d.code for d in found.diagnostics] == [code]


def test_types_and_directives_mean_nothing() -> None:
    head = (
        "'use client'; type A = { b: string }; interface C extends A {} declare const d: string;"
        "export type { A }; import type { E } from './nowhere'; import { type F } from './types';"
    )
    found = read("<p/>", head)
    assert [d.code for d in found.diagnostics] == ["missing-import"]


def test_a_statement_that_would_have_to_be_executed_is_reported() -> None:
    head = "Members.push(1); if (x) {} for (;;) {} class K {}"
    assert codes("x", head) == ["not-understood"] * 4


@pytest.mark.parametrize(
    "component",
    [
        "({ children, tone = 'x' }: any) => <p>{tone}</p>",
        "({ children: inner }: { children: string }) => <p>x</p>",
        "({ children, tone = 'x' }: any) => <p>{tone} {}children</p>",  # the word in text is not a use
        "({ children, tone }: any) => <p>{'children'}{tone?.children}</p>",
        "({ title, ...rest }: any) => <h2>{title}</h2>",
        "(props: any) => { const { title } = props; return <h2>{title} props</h2>; }",
        "(props: any) => <p>{props.title} props.children</p>",
    ],
)
def test_children_that_a_component_takes_and_does_not_use_are_reported(component: str) -> None:
    assert codes("<Note>lost</Note>", f"const Note = {component};") == ["unknown-prop"]


@pytest.mark.parametrize(
    "component",
    [
        "({ children }: any) => <p>{children}</p>",
        "({ children: inner = 'x' }: any) => <p>{inner}</p>",
        "({ ...rest }: any) => <p {...rest} />",
        "(props: any) => { const { children } = props; return <p>{children}</p>; }",
        "(props: any) => { const { title, ...rest } = props; return <p>{rest.children}</p>; }",
        "(props: any) => <p {...props} />",
        "(props: any) => <p>{props?.children}</p>",
        "function ({ children }: any) { const parts = { children }; return <p>{parts.children}</p>; }",
    ],
)
def test_children_that_a_component_uses_are_kept(component: str) -> None:
    assert shapes("<Note>kept</Note>", f"const Note = {component};") == [("p", ["kept"])]


def test_a_prop_with_the_name_of_an_html_tag_is_not_used_by_the_tag() -> None:
    assert codes("<Note b='lost' />", "const Note = ({ b }: any) => <p><b>x</b></p>;") == ["unknown-prop"]
    head = "const Note = ({ Tag }: any) => <Tag>x</Tag>; const Bold = ({ children }) => <b>{children}</b>;"
    assert shapes("<Note Tag={Bold} />", head) == [("b", ["x"])]


def test_a_prop_that_only_a_default_uses_is_used() -> None:
    head = "const Note = ({ name, title = name }: any) => <p>{title}</p>;"
    assert shapes("<Note name='a' />", head) == [("p", ["a"])]
