"""Every code that the compiler can give is explained, and the reference names every component and prop."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import headcount.compiler
from headcount.app.definition_files import compile_file
from headcount.compiler.diagnostics import CODES
from headcount.compiler.element import AGENT_TYPES, MODELS, PLUGIN_AGENT_TYPES, ROLES, TASK_MODES
from headcount.compiler.lower.props import PROPS

COMPILER = Path(headcount.compiler.__file__).parent
REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
REPORTING = {"error", "missing", "warn", "problem", "add", "add_at", "Diagnostic", "_refused"}


def given_codes() -> Iterator[str]:
    """The strings that look like a code, in calls of what reports."""
    for file in COMPILER.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if not isinstance(call, ast.Call):
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name in REPORTING:
                for argument in call.args:
                    value = argument.value if isinstance(argument, ast.Constant) else None
                    if isinstance(value, str) and re.fullmatch(r"[a-z]+(-[a-z]+)+", value):
                        yield value


def test_every_code_is_explained() -> None:
    found = set(given_codes())
    assert len(found) > 30
    assert found <= set(CODES)


def test_reference_names_every_component_prop_and_member() -> None:
    text = (REFERENCE / "language.md").read_text()
    for name, props in PROPS.items():
        for word in (name, *props):
            assert f"`{word}`" in text, (name, word)
    for member in (*AGENT_TYPES, *PLUGIN_AGENT_TYPES, *MODELS, *TASK_MODES):
        assert f"`{member}`" in text, member
    for role in ROLES:
        assert f"`{role}`" in text, role


def test_reference_names_every_code() -> None:
    text = (REFERENCE / "build.md").read_text()
    for code in CODES:
        assert f"`{code}`" in text, code


def test_examples_of_the_reference_are_one_document() -> None:
    text = (REFERENCE / "language.md").read_text()
    written = set()
    for language, suffix in (("python", "py"), ("tsx", "tsx")):
        block = text.partition(f"```{language}\n")[2].partition("\n```")[0]
        compiled = compile_file(f"team.{suffix}", source=block.encode())
        assert compiled.diagnostics == ()
        written.add(compiled.markdown)
    assert len(written) == 1
