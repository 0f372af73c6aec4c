"""Write docs/decisions/README.md, the index of the decisions: python scripts/write_decisions.py"""

from __future__ import annotations

import re
from pathlib import Path

DECISIONS = Path(__file__).parents[1] / "docs/decisions"
PAGE = DECISIONS / "README.md"

_HEAD = """\
# Decisions

Each page gives the context, the decision, the figures behind it, its consequences and the alternatives.
`scripts/write_decisions.py` writes this index.

| | | |
|---|---|---|
"""
_MERGED = """
Some decisions were merged into others. An older reference to one of these numbers leads here:

| | is part of |
|---|---|
"""
_TITLE = re.compile(r"# (\d{4}):? (.+)")
_FIELD = re.compile(r"^(Date|Status|Includes): ?(.+)$", re.M)


def pages() -> list[Path]:
    return sorted(DECISIONS.glob("[0-9]*.md"))


def read(page: Path) -> dict[str, str]:
    """Return number, title and the fields below the title (Date, Status, Includes)."""
    text = page.read_text(encoding="utf-8")
    found = _TITLE.match(text)
    if not found:
        raise ValueError(f"{page.name} does not begin with `# NNNN Title`")
    title = found[2][0].upper() + found[2][1:]
    return {"number": found[1], "title": title, **dict(_FIELD.findall(text.partition("\n## ")[0]))}


def merged() -> dict[str, list[Path]]:
    """Return the pages that include each number without a page of its own."""
    found: dict[str, list[Path]] = {}
    for page in pages():
        for number in re.findall(r"\d{4}", read(page).get("Includes", "")):
            found.setdefault(number, []).append(page)
    return dict(sorted(found.items()))


def render() -> str:
    rows = "".join(_row(page) for page in pages())
    parts = "".join(f"| {number} | {', '.join(map(_link, into))} |\n" for number, into in merged().items())
    return _HEAD + rows + _MERGED + parts


def _row(page: Path) -> str:
    fields = read(page)
    return f"| {fields['number']} | [{fields['title']}]({page.name}) | {fields.get('Date', '')} |\n"


def _link(page: Path) -> str:
    return f"[{page.name[:4]}]({page.name})"


def main() -> None:
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
