"""Reads one definition: its file, the files that it uses, and the root element that it exports."""

from __future__ import annotations

from posixpath import dirname, join
from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, Element, Span
from headcount.compiler.tsx import jsx
from headcount.compiler.tsx.children import settle
from headcount.compiler.tsx.factories import Uids
from headcount.compiler.tsx.functions import call_function
from headcount.compiler.tsx.grammar import (
    ELEMENTS,
    FIELD_BODY,
    FIELD_VALUE,
    FUNCTIONS,
    RETURN,
    STATEMENT_BLOCK,
    WRAPPERS,
)
from headcount.compiler.tsx.imports import bind_module
from headcount.compiler.tsx.module import Const, Expression, Module
from headcount.compiler.tsx.parse import parse
from headcount.compiler.tsx.source import Files, GiveUp, Report, SourceFile, Unreadable
from headcount.compiler.tsx.syntax import check_tags
from headcount.compiler.tsx.values import MISSING, BuiltIn, Function, describe

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.values import Evaluated

ROOTS = ("Command", "Agent", "Skill")
__all__ = ["Reader", "jsx"]


class Reader:
    """The state of one reading: what was reported, read and counted."""

    __slots__ = (
        "_files",
        "_modules",
        "_trees",
        "calls",
        "depth",
        "files",
        "has_placeholders",
        "made",
        "report",
        "root",
        "uids",
        "values",
    )

    def __init__(self, files: Files) -> None:
        self._files = files
        self.report = Report()
        self.files: list[str] = []
        self.depth = 0
        self.made = 0
        self.calls = 0
        self.values = 0
        self.has_placeholders = False
        self.root = ""
        self.uids = Uids()
        self._modules: dict[str, Module | None] = {}
        self._trees: list[tuple[Module, Node]] = []

    def read(self, path: str, data: bytes | None) -> Element | None:
        """The root element of the definition; None when there is none to go on with."""
        try:
            module = self._open(path, data)
            element = None if module is None else self._root(module)
            if element is not None and self.has_placeholders:
                element = settle(self, element)
            self._check_unseen_tags()
        except GiveUp:
            return None
        finally:
            self._release()
        return element

    def _release(self) -> None:
        """Break the circles of modules and scopes, so that a build of many files does not wait for the
        collector to free their trees."""
        for module, _ in self._trees:
            module.names.names.clear()
            module.exports.clear()
            del module.names
        self._trees.clear()
        self._modules.clear()

    def load(self, path: str) -> Module | None:
        """An imported file, once; None when it has been reported as unreadable or wrong."""
        if len(self._modules) == 0 and self._trees:
            root = self._trees[0][0]
            self._modules[self._files.resolve(root.source.path)] = root
        key = self._files.resolve(path)
        if key not in self._modules:
            self._modules[key] = self._open(path, None)
        return self._modules[key]

    def may_read(self, path: str) -> bool:
        """Whether an imported file is below the definition's root, with all links resolved."""
        if not self.root:
            self.root = self._files.root_of(dirname(self._files.resolve(self.files[0])))
        return self._files.resolve(path).startswith(join(self.root, ""))

    def is_file(self, path: str) -> bool:
        return self._files.is_file(path)

    def _open(self, path: str, data: bytes | None) -> Module | None:
        self.files.append(path)
        try:
            source = SourceFile(path, self._files.read(path) if data is None else data)
        except Unreadable as error:
            self.report.add_at(Span(path, *error.place), error.code, error.message, error.hint)
            return None
        root = parse(source, self.report)
        if root is None:
            return None
        module = Module(source)
        self._trees.append((module, root))
        bind_module(self, module, root)
        return module

    def _root(self, module: Module) -> Element | None:
        name = "default" if "default" in module.exports else self._named_root(module)
        if name is None:
            return None
        value = module.exported(self, name)
        if isinstance(value, Function):
            value = call_function(self, value, [], value.node, value.scope)
        while isinstance(value, Element) and not value.name and len(value.children) == 1:
            value = value.children[0]
        if value is UNKNOWN or (isinstance(value, Element) and value.name in ROOTS):
            return value if isinstance(value, Element) else None
        self._report_no_root(module, value)
        return None

    def _named_root(self, module: Module) -> str | None:
        """The one `export const` or `export function` that is, or returns, a root element."""
        names = [name for name, local in module.exports.items() if self._is_root(module, local)]
        if len(names) == 1:
            return names[0]
        span = Span(module.source.path, 1, 1)
        if names:
            message = f"Several roots are exported: {', '.join(names)}"
            self.report.add_at(span, "many-roots", message, "Export one, or make one of them the default.")
        else:
            self._report_no_root(module, MISSING)
        return None

    def _is_root(self, module: Module, local: object) -> bool:
        binding = module.names.names.get(local) if isinstance(local, str) else None
        node = binding.declarator.child_by_field_id(FIELD_VALUE) if isinstance(binding, Const) else None
        if isinstance(binding, (Function, Expression)):
            node = binding.node
        tag = None if node is None else returned_tag(node)
        if tag is None:
            return False
        name = module.source.text(tag)
        value = module.names.find(self, name)
        return (value.name if isinstance(value, BuiltIn) else name if value is MISSING else "") in ROOTS

    def _report_no_root(self, module: Module, value: Evaluated) -> None:
        message = "No <Command>, <Agent> or <Skill> is exported"
        if isinstance(value, Element):
            message += f"; the export is a <{value.name}>"
        elif value is not MISSING:
            message += f"; the export is {describe(value)}"
        hint = "Write `export default <Command name=… description=…>…</Command>`."
        self.report.add_at(Span(module.source.path, 1, 1), "no-root", message, hint)

    def _check_unseen_tags(self) -> None:
        """Closing tags are compared where elements are evaluated; what was not is compared here."""
        for module, root in self._trees:
            if module.source.data.count(b"</") > len(module.tags):
                check_tags(module.source, root, self.report)


def returned_tag(node: Node) -> Node | None:
    """The name in the tag of the element that a node is or returns; nothing is evaluated for it."""
    while True:
        if node.kind_id in WRAPPERS:
            node = node.named_children[0]
        elif node.kind_id in FUNCTIONS:
            body = node.child_by_field_id(FIELD_BODY)
            if body is None:
                return None
            node = body
        elif node.kind_id == STATEMENT_BLOCK:
            returns = [each for each in node.named_children if each.kind_id == RETURN and each.named_children]
            if not returns:
                return None
            node = returns[0].named_children[0]
        elif node.kind_id in ELEMENTS:
            opening = node.named_children[0] if node.child_by_field_name("open_tag") else node
            return opening.child_by_field_name("name")
        else:
            return None
