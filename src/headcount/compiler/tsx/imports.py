"""Import and export statements, and where the names that they mention come from."""

from __future__ import annotations

from posixpath import dirname, join, normpath, splitext
from typing import TYPE_CHECKING, Protocol

from headcount.compiler.diagnostics import did_you_mean
from headcount.compiler.element import UNKNOWN
from headcount.compiler.tsx.evaluate import not_understood
from headcount.compiler.tsx.expressions import parts
from headcount.compiler.tsx.factories import PACKAGES, built_in
from headcount.compiler.tsx.grammar import (
    EXPORT,
    EXPORT_CLAUSE,
    FIELD_DECLARATION,
    FIELD_SOURCE,
    FIELD_VALUE,
    FUNCTION,
    IDENTIFIER,
    IMPORT,
    IMPORT_CLAUSE,
    NAMED_IMPORTS,
    NAMESPACE_EXPORT,
    TOKEN_DEFAULT,
    TOKEN_STAR,
    TOKEN_TYPE,
    TYPES_ONLY,
    kind,
)
from headcount.compiler.tsx.module import Expression, bind_statement, declare
from headcount.compiler.tsx.values import MISSING, BuiltIn, EnumObject, Foreign, Function, Lazy

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.module import Module
    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.values import Evaluated

EXTENSIONS = (".tsx", ".ts", ".jsx", ".js")
# What TypeScript reads for an import that names the compiled file.
COMPILED = {".js": (".tsx", ".ts", ".js", ".jsx"), ".jsx": (".tsx", ".jsx")}
COMMENT_KIND = kind("comment")


class Origin(Protocol):
    """Where imported names come from."""

    def exported(self, reader: Reader, name: str) -> Evaluated: ...


class BuiltInPackage:
    __slots__ = ()

    def exported(self, reader: Reader, name: str) -> Evaluated:
        return MISSING if name == "default" else built_in(name)


class ReactPackage:
    """Of React only the fragment means something here."""

    __slots__ = ()

    def exported(self, reader: Reader, name: str) -> Evaluated:
        if name == "Fragment":
            return BuiltIn("")
        return EnumObject("React", {"Fragment": BuiltIn("")}) if name == "default" else Foreign("react")


class ForeignPackage:
    __slots__ = ("package",)

    def __init__(self, package: str) -> None:
        self.package = package

    def exported(self, reader: Reader, name: str) -> Evaluated:
        return Foreign(self.package)


class MissingFile:
    """A local file that is not there; the import has been reported."""

    __slots__ = ()

    def exported(self, reader: Reader, name: str) -> Evaluated:
        return UNKNOWN


class LocalFile:
    """A file that is read when one of its names is used."""

    __slots__ = ("_module", "importer", "node", "path")

    def __init__(self, importer: Module, path: str, node: Node) -> None:
        self.importer = importer
        self.path = path
        self.node = node
        self._module: Module | None = None

    def exported(self, reader: Reader, name: str) -> Evaluated:
        if self._module is None:
            self._module = reader.load(self.path)
            if self._module is not None and _reaches(self._module, self.importer):
                message = f"{self.importer.source.path} and {self.path} import each other"
                hint = "Move what both need into a third file."
                reader.report.add(self.importer.source, self.node, "import-cycle", message, hint)
                self._module = None
            elif self._module is not None:
                self.importer.uses.add(self._module)
        return UNKNOWN if self._module is None else self._module.exported(reader, name)

    def known_names(self) -> list[str]:
        return [] if self._module is None else list(self._module.exports)


class Imported(Lazy):
    """One imported name."""

    __slots__ = ("importer", "name", "node", "origin")

    def __init__(self, importer: Module, origin: Origin, name: str, node: Node) -> None:
        self.importer = importer
        self.origin = origin
        self.name = name
        self.node = node

    def force(self, reader: Reader) -> Evaluated:
        value = self.origin.exported(reader, self.name)
        if value is not MISSING:
            return value
        what = "a default export" if self.name == "default" else f"an export {self.name}"
        known = self.origin.known_names() if isinstance(self.origin, LocalFile) else []
        hint = did_you_mean(self.name, known) if known else "Check the name."
        return reader.report.add(
            self.importer.source, self.node, "no-such-export", f"The imported file has not {what}", hint
        )


class Namespace(Lazy):
    """`import * as name`: itself the value; its members are the exports."""

    __slots__ = ("origin",)

    def __init__(self, origin: Origin) -> None:
        self.origin = origin

    def force(self, reader: Reader) -> Evaluated:
        return self

    def exported(self, reader: Reader, name: str) -> Evaluated:
        return self.origin.exported(reader, name)


BUILT_INS = BuiltInPackage()


def bind_module(reader: Reader, module: Module, root: Node) -> None:
    """Binds everything that the file declares, imports and exports."""
    scope = module.names
    for statement in root.named_children:
        kind_id = statement.kind_id
        if kind_id == IMPORT:
            _bind_import(reader, module, statement)
        elif kind_id == EXPORT:
            _bind_export(reader, module, statement)
        else:
            bind_statement(reader, statement, scope)


def _bind_import(reader: Reader, module: Module, statement: Node) -> None:
    children = statement.children
    if children[1].kind_id == TOKEN_TYPE:
        return
    source = statement.child_by_field_id(FIELD_SOURCE)
    if source is None:
        not_understood(reader, statement, module.names)
        return
    origin = _origin(reader, module, source)
    if children[1].kind_id != IMPORT_CLAUSE:
        return
    for item in children[1].named_children:
        if item.kind_id == NAMED_IMPORTS:
            _bind_named(reader, module, origin, item)
        elif item.kind_id == IDENTIFIER:
            _declare(reader, module, origin, "default", item, item)
        elif item.kind_id != COMMENT_KIND:
            local = parts(item)[0]
            declare(reader, module.source.name(local), Namespace(origin), local, module.names)


def _bind_named(reader: Reader, module: Module, origin: Origin, clause: Node) -> None:
    for specifier in clause.named_children:
        if specifier.kind_id == COMMENT_KIND:
            continue
        children = specifier.children
        if children[0].kind_id != TOKEN_TYPE:
            name = module.source.name(children[0])
            _declare(reader, module, origin, name, children[-1], specifier)


def _declare(reader: Reader, module: Module, origin: Origin, name: str, local_node: Node, node: Node) -> None:
    local = module.source.name(local_node)
    value = built_in(name) if origin is BUILT_INS and name != "default" else None
    declare(reader, local, value or Imported(module, origin, name, node), local_node, module.names)


def _bind_export(reader: Reader, module: Module, statement: Node) -> None:
    children = statement.children
    second = children[1].kind_id
    if second == TOKEN_TYPE:
        return
    source = statement.child_by_field_id(FIELD_SOURCE)
    if source is not None:
        _bind_reexport(reader, module, statement, source)
    elif second == TOKEN_DEFAULT:
        _bind_default(reader, module, statement)
    elif second == EXPORT_CLAUSE:
        for name, local, _ in _specifiers(module, children[1]):
            module.exports[name] = local
    else:
        declaration = statement.child_by_field_id(FIELD_DECLARATION)
        if declaration is None:
            not_understood(reader, statement, module.names)
        elif declaration.kind_id not in TYPES_ONLY:
            before = set(module.names.names)
            bind_statement(reader, declaration, module.names)
            module.exports.update((name, name) for name in module.names.names if name not in before)


def _bind_default(reader: Reader, module: Module, statement: Node) -> None:
    """`default` is no identifier, so it can be a name of the module's without a clash."""
    declaration = statement.child_by_field_id(FIELD_DECLARATION)
    node = declaration or statement.child_by_field_id(FIELD_VALUE)
    if node is None:
        not_understood(reader, statement, module.names)
        return
    if node.kind_id in TYPES_ONLY:
        return
    scope = module.names
    scope.names["default"] = Expression(node, scope)
    module.exports["default"] = "default"
    if declaration is not None and declaration.kind_id == FUNCTION:
        bind_statement(reader, declaration, scope)
        name = next(
            (n for n, v in scope.names.items() if type(v) is Function and v.node == declaration), "default"
        )
        module.exports["default"] = name


def _bind_reexport(reader: Reader, module: Module, statement: Node, source: Node) -> None:
    origin = _origin(reader, module, source)
    what = statement.children[1]
    if what.kind_id == TOKEN_STAR:
        module.stars.append(origin)
    elif what.kind_id == NAMESPACE_EXPORT:
        module.exports[module.source.name(parts(what)[-1])] = Namespace(origin)
    else:
        for name, imported, node in _specifiers(module, what):
            module.exports[name] = Imported(module, origin, imported, node)


def _specifiers(module: Module, clause: Node) -> list[tuple[str, str, Node]]:
    """Exported name, local name and node of each `a as b`; types are left out."""
    found = []
    for specifier in clause.named_children:
        if specifier.kind_id == COMMENT_KIND or specifier.children[0].kind_id == TOKEN_TYPE:
            continue
        local, name = specifier.children[0], specifier.children[-1]
        found.append((module.source.name(name), module.source.name(local), specifier))
    return found


def _origin(reader: Reader, module: Module, node: Node) -> Origin:
    name = module.source.data[node.start_byte + 1 : node.end_byte - 1].decode()
    if name in PACKAGES:
        return BUILT_INS
    if name == "react":
        return ReactPackage()
    if not name.startswith((".", "/")):
        return ForeignPackage(name)
    path = _find_file(reader, join(dirname(module.source.path), name))
    if path is None:
        hint = "Check the path; it is relative to this file."
        reader.report.add(module.source, node, "missing-import", f"There is no file {name}", hint)
        return MissingFile()
    if not reader.may_read(path):
        hint = "Definitions import files of their own repository only: copy it there."
        message = f"{name} is outside of {reader.root}"
        reader.report.add(module.source, node, "import-outside", message, hint)
        return MissingFile()
    return LocalFile(module, path, node) if path.endswith(EXTENSIONS) else ForeignPackage(name)


def _find_file(reader: Reader, path: str) -> str | None:
    path = normpath(path)
    stem, extension = splitext(path)
    candidates = [stem + each for each in COMPILED.get(extension, ())] or [path]
    candidates += [path + each for each in EXTENSIONS]
    candidates += [join(path, "index" + each) for each in EXTENSIONS]
    return next((each for each in candidates if reader.is_file(each)), None)


def _reaches(start: Module, goal: Module) -> bool:
    """Whether `start` uses `goal`, itself or through others."""
    seen: set[Module] = set()
    pending = [start]
    while pending:
        module = pending.pop()
        if module is goal:
            return True
        if module not in seen:
            seen.add(module)
            pending.extend(module.uses)
    return False
