"""The house rules that a program can check: names, pure layers, ports, decisions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/headcount"
MODULES = {
    path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text())
    for path in sorted(PACKAGE.rglob("*.py"))
}
DECISIONS = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))

# Values in, values out: what these packages must not use.
PURE = ("compiler/", "domain/", "protocol/")
IO = {
    "fcntl", "glob", "io", "linecache", "os", "pathlib", "random", "select", "selectors", "shutil", "signal",
    "socket", "subprocess", "tempfile", "threading",
}  # fmt: skip

# Names that differ only by an ending from one of another package, by the package that is to give up its own.
# Take out what is mended.
ALIKE = {"app": {"member", "salvage", "task", "team"}}


def _names() -> dict[str, list[str]]:
    """Where each module name is used. Every package has an `__init__`, and may have a `__main__`."""
    found = defaultdict(list)
    for path in MODULES:
        if not Path(path).stem.startswith("__"):
            found[Path(path).stem].append(path)
    return found


def test_no_two_modules_have_the_same_name() -> None:
    shared = {name: paths for name, paths in _names().items() if len(paths) > 1}
    assert shared == {}


def test_no_two_modules_differ_only_by_an_ending() -> None:
    names = set(_names())
    alike = {name for name in names for ending in ("s", "ed", "ing", "er") if name + ending in names}
    assert alike == set().union(*ALIKE.values())


@pytest.mark.parametrize("path", [path for path in MODULES if path.startswith(PURE)])
def test_pure_layers_do_no_io(path: str) -> None:
    tree = MODULES[path]
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported & IO == set()
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"open", "exec", "eval", "input"}


def test_every_method_of_a_port_has_a_caller() -> None:
    ports = [node for node in MODULES["ports.py"].body if isinstance(node, ast.ClassDef)]
    methods = {
        method.name
        for port in ports
        if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in port.bases)
        for method in port.body
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("__")
    }
    used = {
        node.attr
        for path, tree in MODULES.items()
        for node in ast.walk(tree)
        if path != "ports.py" and isinstance(node, ast.Attribute)
    }
    assert methods - used == set()


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name[:4])
def test_a_decision_has_a_date_and_a_status(path: Path) -> None:
    head = path.read_text()[:600]
    assert re.search(r"^Date: \d{4}-\d\d-\d\d$", head, re.MULTILINE)
    assert re.search(r"^Status: (accepted.*|superseded by .*|rejected)$", head, re.MULTILINE)
