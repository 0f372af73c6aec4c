"""Write docs/reference/statements.md from statements.toml: python scripts/write_statements.py"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs/reference/statements.toml"
PAGE = ROOT / "docs/reference/statements.md"

DOCUMENTS = {
    1: "The ShutdownSequence component",
    2: "The Team and Teammate components",
    3: "Teammate cleanup",
    4: "The team shutdown tool",
    5: "Swarm shutdown",
}
_HEAD = """\
# The requirements, statement by statement

headcount was built from five documents. Each row is one statement of them and the test that shows that it
holds; a name after a comma is a case of the golden corpus. `python scripts/write_statements.py` writes this
page, and a test checks that every test in it exists.
"""


def read() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads(SOURCE.read_text(encoding="utf-8"))["statement"]
    return rows


def render() -> str:
    rows = read()
    lacking = [row for row in rows if "open" in row]
    parts = [_HEAD, f"{len(rows) - len(lacking)} of {len(rows)} hold. The others are in the last section.\n"]
    for number, title in DOCUMENTS.items():
        parts.append(f"## {number}. {title}\n\n| statement | shown by |\n|---|---|")
        parts += [
            _row(row["says"], _shown(row)) for row in rows if row["document"] == number and "open" not in row
        ]
        parts.append("")
    parts.append("## What does not hold\n\n| document | statement | what is so instead |\n|---|---|---|")
    parts += [_row(str(row["document"]), row["says"], row["open"]) for row in lacking]
    return "\n".join(parts) + "\n"


def _shown(row: dict[str, Any]) -> str:
    return f"`{row['shown']}`" + (f", `{row['case']}`" if "case" in row else "")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
