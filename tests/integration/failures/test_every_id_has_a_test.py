"""Every way in which systems of this kind fail has a test here that carries its id."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
_COUNTS = {"A": 15, "B": 10, "C": 23, "D": 16, "E": 12}
IDS = [f"{group}{number}" for group, count in _COUNTS.items() for number in range(1, count + 1)]


def find_tests() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for id in re.findall(r"(?<=_)[A-E]\d+(?=_)", node.name):
                    found.setdefault(id, []).append(f"{file.relative_to(TESTS)}::{node.name}")
    return found


def test_every_scenario_has_at_least_one_test_with_its_id() -> None:
    found = find_tests()
    print(f"{len(IDS)} scenarios, {sum(map(len, found.values()))} tests")
    assert [id for id in IDS if id not in found] == []
    assert sorted(set(found) - set(IDS)) == []


if __name__ == "__main__":
    for id, names in sorted(find_tests().items(), key=lambda item: IDS.index(item[0])):
        print(id, *names, sep="\n  ")
