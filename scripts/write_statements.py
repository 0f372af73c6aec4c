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

headcount was built from five documents. This page lists every statement of them that can be checked, in our
own words, with the command that shows it. Run the commands in a copy of `tests/docs/statements`, which has to
be a git repository. Where a statement is about processes, the page names a test instead.

`statements.toml` has, for each command, the texts that it must print. `tests/docs/test_statements.py` runs
all commands and checks that every named test exists and that CI runs it. `python scripts/write_statements.py`
writes this page.
"""


def read() -> list[dict[str, Any]]:
    """Read the table. Each row gets the number that the page shows, such as 2.17."""
    rows: list[dict[str, Any]] = tomllib.loads(SOURCE.read_text(encoding="utf-8"))["statement"]
    counted = dict.fromkeys(DOCUMENTS, 0)
    for row in rows:
        counted[row["document"]] += 1
        row["number"] = f"{row['document']}.{counted[row['document']]}"
    return rows


def render() -> str:
    rows = read()
    lacking = [row for row in rows if "open" in row]
    parts = [_HEAD, f"{len(rows) - len(lacking)} of {len(rows)} hold. The others are in the last section.\n"]
    for document, title in DOCUMENTS.items():
        parts.append(f"## {document}. {title}\n\n| | statement | shown by |\n|---|---|---|")
        parts += [
            _row(row["number"], row["says"], f"`{row.get('run') or row['shown']}`")
            for row in rows
            if row["document"] == document and "open" not in row
        ]
        parts.append("")
    parts.append("## What does not hold\n\n| | statement | what is so instead |\n|---|---|---|")
    parts += [_row(row["number"], row["says"], row["open"]) for row in lacking]
    return "\n".join(parts) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
