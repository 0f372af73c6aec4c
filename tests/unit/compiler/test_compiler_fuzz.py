"""Whatever tree a reader makes, lowering answers with a document or with diagnostics."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.compiler.diagnostics import Report
from headcount.compiler.dialects import DIALECTS
from headcount.compiler.element import UNKNOWN, Element, Prop, Span, TaskRef, TeamRef, Text, WorkerRef
from headcount.compiler.graph_svg import to_svg
from headcount.compiler.lower import lower
from headcount.compiler.lower import props as kinds
from headcount.compiler.lower.document import ROOTS
from headcount.compiler.lower.props import PROPS
from headcount.compiler.markdown_writer import write_markdown
from headcount.compiler.workflow_graph import draw, to_mermaid

HERE = Span("team.tsx", 1, 1)
WORKER = WorkerRef("w", "x", None, 1)
REFS = [
    WORKER,
    WorkerRef("", "", "m", 2),
    TaskRef("s", "n", 3),
    TaskRef("s", "n", 4),
    TeamRef("t", (WORKER,), 5),
]
NAMES = [*PROPS, *PROPS, *PROPS, "Command", "div"]
PROP_NAMES = sorted({name for props in PROPS.values() for name in props} | {"nope", "key"})

texts = st.text(st.sampled_from("ab \n\t`#|{}$<&\x00\ud800\u2028"), max_size=6)
scalars = st.one_of(
    texts, st.integers(-2, 5), st.booleans(), st.none(), st.just(UNKNOWN), st.sampled_from(REFS), st.floats()
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=5,
)
# What each kind takes, so that many trees are right, and the rest wrong in some place only.
FITTING = {
    kinds.text: st.sampled_from(["x", "a b", "`$|#\n"]),
    kinds.flag: st.booleans(),
    kinds.count: st.integers(0, 9),
    kinds.task: st.sampled_from(REFS[2:4]),
    kinds.tasks: st.lists(st.sampled_from(REFS[2:4]), max_size=2).map(tuple),
    kinds.worker: st.sampled_from(REFS[:2]),
    kinds.workers: st.lists(st.sampled_from(REFS[:2]), min_size=1, max_size=2).map(tuple),
    kinds.team: st.just(REFS[4]),
    kinds.values: st.lists(st.sampled_from(["left", "x", 3]), max_size=3).map(tuple),
    kinds.rows: st.lists(st.lists(st.sampled_from(["x", 3, None]), max_size=2).map(tuple), max_size=2).map(
        tuple
    ),
    kinds.mapping: st.just({}),
}


@st.composite
def props(draw: st.DrawFn, name: str) -> tuple[Prop, ...]:
    given = [
        Prop(prop, draw(FITTING[kind]), HERE)
        for prop, kind in PROPS.get(name, {}).items()
        if draw(st.integers(0, 3))
    ]
    if not draw(st.integers(0, 9)):
        given.append(Prop(draw(st.sampled_from(PROP_NAMES)), draw(values), HERE))
    if name in ROOTS:
        given += [Prop("name", "x", HERE), Prop("description", "d", HERE)]
    return tuple(given)


words = st.tuples(texts, st.booleans()).map(lambda pair: Text(pair[0], HERE, pair[1]))


@st.composite
def element(draw: st.DrawFn, children: st.SearchStrategy[Any], names: list[str] = NAMES) -> Element:
    name = draw(st.sampled_from(names))
    return Element(name, draw(props(name)), tuple(draw(st.lists(children, max_size=4))), HERE)


trees = element(st.recursive(words, element, max_leaves=12), ["Command", "Agent", "Skill"])


@settings(max_examples=400)
@given(trees)
def test_any_tree_gives_a_document_or_an_error(root: Element) -> None:
    report = Report()
    document = lower(root, report)
    # An UNKNOWN was reported by a reader, so a tree with one may fail without another word.
    assert (document is None) == report.failed or "UNKNOWN" in repr(root)
    if document is not None:
        for dialect in DIALECTS.values():
            assert write_markdown(document, dialect).encode().endswith(b"\n")
        drawing = draw(document)
        if drawing.groups:
            assert to_svg(drawing).startswith("<svg")
            assert to_mermaid(drawing).startswith("flowchart")


@pytest.mark.parametrize(
    "children",
    [
        (Element("pre", (), (Text("`" * 300_000, HERE, True),), HERE),),
        (Element("pre", (), (Text("\n" * 300_000 + "x", HERE, True),), HERE),),
        (Element("p", (), (Element("code", (), (Text("` " * 150_000, HERE, True),), HERE),), HERE),),
        tuple(Element(f"nope{n}", (), (), HERE) for n in range(10_000)),
        (Element("Team", tuple(Prop(f"a{n}", "x", HERE) for n in range(10_000)), (), HERE),),
        (Text("  line\n" * 50_000, HERE, False),),
    ],
    ids=["backticks", "blank lines", "inline backticks", "unknown elements", "unknown props", "lines"],
)
def test_time_is_in_proportion_to_size(children: tuple[Element | Text, ...]) -> None:
    named = (Prop("name", "x", HERE), Prop("description", "d", HERE))
    start = process_time()
    document = lower(Element("Command", named, children, HERE), Report())
    if document is not None:
        write_markdown(document, DIALECTS["teammate"])
    assert process_time() - start < 2
