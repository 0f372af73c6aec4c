"""Every code that can be raised has a page, and every page is about a code that can be raised."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import headcount
from headcount import errors
from headcount.app.explain import explain, read_pages, write_reference
from headcount.compiler.diagnostics import CODES
from headcount.errors import HeadcountError, UsageError

SOURCE = Path(headcount.__file__).parent
KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TREES = {
    path: ast.parse(path.read_text())
    for path in sorted(SOURCE.rglob("*.py"))
    if path.relative_to(SOURCE).parts[0] != "compiler"
}


def nodes(kind: type[ast.AST]) -> Iterator[ast.AST]:
    return (node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, kind))


def words(node: ast.expr) -> Iterator[str]:
    """The codes that an expression can be; a part that is filled in is a `*`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from words(node.body)
        yield from words(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "*" for part in node.values)


def named_code() -> Iterator[str]:
    for call in nodes(ast.Call):
        assert isinstance(call, ast.Call)
        for keyword in call.keywords:
            if keyword.arg == "code":
                yield from words(keyword.value)


def through_a_helper() -> Iterator[str]:
    """A function with a parameter `code` is called with one, or has a default."""
    for tree in TREES.values():
        places = {}
        for function in ast.walk(tree):
            names = [a.arg for a in function.args.args] if isinstance(function, ast.FunctionDef) else []
            if "code" in names and function.name != "__init__":
                places[function.name] = names.index("code")
                defaults = dict(zip(names[::-1], function.args.defaults[::-1], strict=False))
                yield from words(defaults.get("code", ast.Constant(None)))
        for call in ast.walk(tree):
            place = places.get(getattr(call.func, "id", "")) if isinstance(call, ast.Call) else None
            if place is not None and len(call.args) > place:
                yield from words(call.args[place])


def why_not() -> Iterator[str]:
    """The protocol says code and reason as a pair."""
    for function in nodes(ast.FunctionDef):
        assert isinstance(function, ast.FunctionDef)
        if function.name.startswith("why_not"):
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                    yield from words(node.value.elts[0])


def classes(root: type[HeadcountError] = HeadcountError) -> Iterator[str]:
    yield root.code
    for child in root.__subclasses__():
        yield from classes(child)


RAISED = {code for code in (*named_code(), *through_a_helper(), *why_not(), *classes()) if code}


def test_the_search_finds_what_is_there() -> None:
    assert {"no-team", "which-team", "lead-goes-last", "invalid-argument", "wrong-setting", "bug"} <= RAISED


@pytest.mark.parametrize("code", sorted(RAISED))
def test_a_code_that_can_be_raised_has_a_page(code: str) -> None:
    pattern = re.compile(code.replace("*", ".+"))
    assert [known for known in read_pages() if pattern.fullmatch(known)], f"no page about {code}"


@pytest.mark.parametrize("code", sorted(read_pages()))
def test_a_page_is_about_a_code_that_can_be_raised_and_says_what_to_do(code: str) -> None:
    page = read_pages()[code]
    assert KEBAB.fullmatch(code)
    if code not in CODES:
        patterns = [re.compile(raised.replace("*", ".+")) for raised in RAISED]
        assert any(pattern.fullmatch(code) for pattern in patterns), f"nothing raises {code}"
        assert page.why
        assert page.do
    assert page.what.endswith(".")
    assert page.exit in (1, 2, 3, 4, 5, 70)


def raised_as() -> Iterator[tuple[str, int]]:
    """Code and exit code, where both stand in the same call."""
    for call in nodes(ast.Call):
        assert isinstance(call, ast.Call)
        kind = getattr(errors, getattr(call.func, "id", ""), None)
        if isinstance(kind, type) and issubclass(kind, HeadcountError):
            codes = [
                word for keyword in call.keywords if keyword.arg == "code" for word in words(keyword.value)
            ]
            yield from ((code, kind.exit_code) for code in codes or [kind.code] if "*" not in code)


@pytest.mark.parametrize(("code", "exit_code"), sorted(set(raised_as())))
def test_what_is_raised_ends_with_the_exit_code_of_its_page(code: str, exit_code: int) -> None:
    assert read_pages()[code].exit == exit_code


def test_the_committed_page_is_the_written_one() -> None:
    committed = Path(__file__).parents[3] / "docs" / "reference" / "errors.md"
    assert committed.read_text() == write_reference(), (
        "run python -m headcount.app.explain > docs/reference/errors.md"
    )


def test_a_code_that_is_none_names_one_that_is_close() -> None:
    with pytest.raises(UsageError) as refused:
        explain("unkown-team")
    assert "unknown-team" in refused.value.hints[0]
    assert explain("[unknown-team]").exit == 2
