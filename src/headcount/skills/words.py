"""Small parts that the pages share: numbers as people say them, fenced blocks, lists."""

from __future__ import annotations

import json
import textwrap
from typing import Any

_COLUMNS = 100
_BLOCKS = ("#", "```", "|", "- ", "1. [")  # headings, code, tables, lists: their lines are their own

WORKER = "worker"
SPEC = "spec-reviewer"
QUALITY = "code-quality-reviewer"


def seconds(number: float) -> str:
    return f"{number:g} second" if number == 1 else f"{number:g} seconds"


def times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def shell(*lines: str) -> str:
    return "```bash\n" + "\n".join(lines) + "\n```"


def text(body: str) -> str:
    return f"```text\n{body.rstrip()}\n```"


def tool(name: str, **arguments: Any) -> str:
    """A call of one of our MCP tools, as a client makes it."""
    return as_json({"name": name, "arguments": arguments})


def as_json(value: Any) -> str:
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```"


def bullets(*items: str) -> str:
    return "\n".join(f"- {item}" for item in items)


def join(*parts: str) -> str:
    """Parts with a blank line between them; what is one paragraph of prose is filled."""
    return "\n\n".join(_filled(part.strip("\n")) for part in parts if part) + "\n"


def _filled(part: str) -> str:
    if "\n\n" in part or part.startswith(_BLOCKS):
        return part
    return textwrap.fill(part, _COLUMNS, break_long_words=False, break_on_hyphens=False)
