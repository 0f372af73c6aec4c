"""Write docs/decisions/README.md, the index of the decisions: python scripts/write_decisions.py"""

from __future__ import annotations

from pathlib import Path

DECISIONS = Path(__file__).parents[1] / "docs/decisions"
PAGE = DECISIONS / "README.md"

_HEAD = """\
# Decisions

Why it is built as it is: context, decision, consequences, what else was considered, and the figures that
decided it. A decision that no longer holds is not changed but followed by a new one. This index is written by
`scripts/write_decisions.py`.

| | |
|---|---|
"""


def render() -> str:
    return _HEAD + "".join(_row(page) for page in sorted(DECISIONS.glob("[0-9]*.md")))


def _row(page: Path) -> str:
    with page.open(encoding="utf-8") as file:
        title = file.readline().removeprefix("# ").strip()
    number, _, name = title.partition(" ")
    return f"| {number.rstrip(':')} | [{name[0].upper()}{name[1:]}]({page.name}) |\n"


def main() -> None:
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
