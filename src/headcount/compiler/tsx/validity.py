"""Reject what TypeScript rejects and tree-sitter's grammar accepts.

tree-sitter parses for editors, so its grammar is looser than the language: `defineWorker('w', , 'haiku')`
would move an argument, `<!-- … -->` would drop text, `const class = …` would pass. Each rule takes the nodes
of one kind and yields what is wrong with them. The whole tree is checked, also code that nothing uses. Rules
about literals, names and code are in the three modules beside; those about modules and JSX are here.

The oracle test in `tests/oracle` compares the outcome with TypeScript's own parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.tsx.grammar import (
    COMMENT,
    FIELD_NAME,
    IMPORT_CLAUSE,
    JSX_ATTRIBUTE,
    JSX_EXPRESSION,
    JSX_SELF_CLOSING,
    MAX_SYNTAX_ERRORS,
    SPREAD,
    TOKEN_TYPE,
    kind,
)
from headcount.compiler.tsx.source import Problem
from headcount.compiler.tsx.syntax import HTML_COMMENT
from headcount.compiler.tsx.valid_code import CODE
from headcount.compiler.tsx.valid_literals import LITERALS
from headcount.compiler.tsx.valid_names import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from headcount.compiler.tsx.source import Report, SourceFile

    Rule = Callable[[SourceFile, Node], Iterator[Problem]]

EXPORTABLE_AS_DEFAULT = frozenset(
    map(
        kind,
        (
            "function_declaration",
            "function_signature",
            "generator_function_declaration",
            "class_declaration",
            "abstract_class_declaration",
            "class",
            "interface_declaration",
        ),
    )
)


def report_invalid(source: SourceFile, root: Node, report: Report) -> bool:
    """Report everything in the tree that TypeScript would reject. True if there was anything."""
    found = 0
    rules = RULES
    pending = [root]
    while pending:
        node = pending.pop()
        rule = rules.get(node.kind_id)
        if rule is not None:
            for problem in rule(source, node):
                report.add(source, problem.node, problem.code, problem.message, problem.hint)
                found += 1
            if found >= MAX_SYNTAX_ERRORS:
                break
        pending.extend(node.named_children)
    return found > 0


def _html_comment(source: SourceFile, node: Node) -> Iterator[Problem]:
    yield Problem(node, *HTML_COMMENT)


def _export(source: SourceFile, node: Node) -> Iterator[Problem]:
    children = node.children
    if len(children) < 3 or children[1].type != "default":
        return
    declaration = node.child_by_field_name("declaration")
    if declaration is not None and declaration.kind_id not in EXPORTABLE_AS_DEFAULT:
        yield Problem(
            declaration, "`export default` takes a value, not a declaration", "Write the value itself."
        )


def _program(source: SourceFile, node: Node) -> Iterator[Problem]:
    defaults = [
        child
        for child in node.named_children
        if child.type == "export_statement" and child.children[1].type == "default"
    ]
    for extra in defaults[1:]:
        declaration = extra.child_by_field_name("declaration")
        if declaration is None or declaration.type not in ("interface_declaration", "function_signature"):
            yield Problem(extra, "The file has two default exports", "Remove one of them.")


def _import(source: SourceFile, node: Node) -> Iterator[Problem]:
    if node.children[1].kind_id != TOKEN_TYPE:
        return
    for clause in node.named_children:
        if clause.kind_id == IMPORT_CLAUSE and len(clause.named_children) > 1:
            hint = "Write two imports."
            yield Problem(clause, "`import type` takes a default or names in braces, not both", hint)


def _jsx_attributes(source: SourceFile, node: Node) -> Iterator[Problem]:
    """Every attribute has one name and one value; only a pair of tags may have no name."""
    if node.kind_id == JSX_SELF_CLOSING and node.child_by_field_id(FIELD_NAME) is None:
        yield Problem(node, "`</>` closes nothing here", "Write <></>, or remove it.")
    seen: set[str] = set()
    for child in node.named_children:
        if child.kind_id == JSX_EXPRESSION and all(part.kind_id != SPREAD for part in child.named_children):
            yield Problem(
                child, "Braces among attributes need a spread", "Write {...props}, or name={value}."
            )
        if child.kind_id != JSX_ATTRIBUTE:
            continue
        pair = [part for part in child.named_children if part.kind_id != COMMENT]
        name = source.text(pair[0])
        if name in seen:
            yield Problem(child, f"{name} is given twice", "Remove one of them.", "duplicate-prop")
        seen.add(name)
        value = pair[-1]
        if value.kind_id == JSX_EXPRESSION:
            inside = [part for part in value.named_children if part.kind_id != COMMENT]
            if not inside:
                hint = "Write a value between the braces, or remove the attribute."
                yield Problem(value, "There is no value here", hint, "empty-expression")
            elif inside[0].kind_id == SPREAD:
                yield Problem(inside[0], "A value cannot be spread here", "Remove the dots.")


def _jsx_expression(source: SourceFile, node: Node) -> Iterator[Problem]:
    for child in node.named_children:
        if child.type == "sequence_expression":
            yield Problem(child, "A comma cannot separate two values in braces", "Write {a}{b}, or [a, b].")


_MODULES_AND_JSX = {
    "html_comment": _html_comment,
    "export_statement": _export,
    "program": _program,
    "import_statement": _import,
    "jsx_opening_element": _jsx_attributes,
    "jsx_self_closing_element": _jsx_attributes,
    "jsx_expression": _jsx_expression,
}
RULES: dict[int, Rule] = {
    kind(name): rule for name, rule in (LITERALS | NAMES | CODE | _MODULES_AND_JSX).items()
}
