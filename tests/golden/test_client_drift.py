"""The dialects are held to the tool schemas of the pinned client; a newer pin needs its schemas here."""

from __future__ import annotations

import json
import re
from pathlib import Path

from headcount.compiler.dialects import AGENT, DIALECTS, TEAM_TOOLS, dialect_for_version

ROOT = Path(__file__).parents[2]
SCHEMAS = json.loads((Path(__file__).parent / "claude_tools.json").read_text())


def pinned() -> str:
    pins = json.loads((ROOT / ".ci/npm/clients/package.json").read_text())["dependencies"]
    return str(pins["@anthropic-ai/claude-code"])


def tools(dialect_calls: str) -> set[str]:
    return set(re.findall(r"\b([A-Z]\w+)\(", dialect_calls))


def test_the_schemas_of_the_pinned_client_are_here() -> None:
    assert pinned() in SCHEMAS, f"add the tool schemas of {pinned()} to tests/golden/claude_tools.json"


def test_the_dialect_of_the_pinned_client_calls_only_tools_that_it_has() -> None:
    dialect = dialect_for_version(tuple(map(int, pinned().split("."))))
    assert dialect is AGENT
    assert {dialect.spawn, *tools(dialect.request)} <= set(SCHEMAS[pinned()])


def test_models_and_modes_are_those_of_the_schemas() -> None:
    for dialect, version in ((AGENT, pinned()), (TEAM_TOOLS, "2.1.177")):
        properties = SCHEMAS[version][dialect.spawn]["properties"]
        assert dialect.models == tuple(properties["model"]["enum"])
        assert dialect.modes == tuple(properties["mode"]["enum"])


def test_no_listed_client_has_the_default_dialects_calls() -> None:
    assert all("Teammate" not in found for found in SCHEMAS.values())
    assert DIALECTS["teammate"].models is None
