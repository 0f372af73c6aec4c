"""The pages hang together: links resolve, the site builds from the repository alone, indexes are whole."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from .pages import DOCS, PAGES, ROOT, read_blocks, without_blocks
from .scripts import load_script

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_ROW = re.compile(r"^\| ([A-F])(\d+) \|.*\| `(test_\w+(?:\[F\d+\])?)` \| (?:both )?\|$", re.M)
_ID_IN_NAME = re.compile(r"_([A-F])0?(\d+)(?=_)")
_ID_OF_PARAMETER = re.compile(r'id="([A-F]\d+)"')
# The lines that belong to one definition, decorators first: they are not blank.
_TEST = re.compile(r"((?:^[^\n]+\n)*?)^\s*(?:async )?def (test_\w+)", re.M)


def _anchors(page: Path) -> set[str]:
    """As GitHub and the site make them, for the headings that we write."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    for target in _LINK.findall(without_blocks(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{page}: {target}"
        if anchor and place.suffix == ".md":
            assert anchor in _anchors(place), f"{page}: {target}"


def test_the_navigation_has_every_page_and_guides_in_the_order_of_their_index() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    sections = {title: pages for section in nav for title, pages in section.items()}
    guides = re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "how-to/index.md").read_text())
    assert sections["Guides"] == ["how-to/index.md", *(f"how-to/{name}" for name in guides)]
    for title, folder in (("Reference", "reference"), ("Explanation", "explanation")):
        assert sorted(sections[title]) == sorted(
            f"{folder}/{page.name}" for page in (DOCS / folder).glob("*.md")
        )
    assert {*sections["Start"], "architecture.md"} == {page.name for page in DOCS.glob("*.md")}


def test_every_page_can_be_reached_from_the_first() -> None:
    """But the decisions, which their own index lists, and single guides, which theirs does."""
    linked = set(_LINK.findall((DOCS / "index.md").read_text()))
    for folder in ("reference", "explanation"):
        for page in (DOCS / folder).glob("*.md"):
            assert f"{folder}/{page.name}" in linked, f"docs/index.md does not link {folder}/{page.name}"


def test_index_of_decisions_is_whole() -> None:
    writer = load_script("write_decisions.py")
    assert writer.PAGE.read_text() == writer.render(), "run `python scripts/write_decisions.py`"


def test_every_decision_has_a_date_a_status_and_figures() -> None:
    writer = load_script("write_decisions.py")
    for page in writer.pages():
        fields, text = writer.read(page), page.read_text()
        assert page.name.startswith(fields["number"] + "-"), page.name
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", fields["Date"]), page.name
        assert re.match(r"accepted|superseded by", fields["Status"]), page.name
        for heading in ("Context", "Decision", "Figures"):
            assert f"\n## {heading}\n" in text, f"{page.name} has no {heading}"


def test_no_reference_to_a_decision_leads_nowhere() -> None:
    """In pages, in the source and in the tests. A number may be part of another page."""
    writer = load_script("write_decisions.py")
    known = {writer.read(page)["number"] for page in writer.pages()} | writer.merged().keys()
    named = re.compile(r"(?:decisions/|[Dd]ecision |\()(0[01]\d\d)\b(?!\.)")
    files = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), ROOT / "pyproject.toml"]
    for file in files:
        assert {*named.findall(file.read_text())} <= known, file


def _tests_by_id() -> dict[str, set[str]]:
    """By id: the names of tests with it, in the function's name or as the id of a parameter (`[F21]`)."""
    found: dict[str, set[str]] = {}
    for file in (ROOT / "tests").rglob("test_*.py"):
        for decorators, name in _TEST.findall(file.read_text()):
            for letter, number in _ID_IN_NAME.findall(name):
                found.setdefault(letter + number, set()).add(name)
            for id in _ID_OF_PARAMETER.findall(decorators):
                found.setdefault(id, set()).add(f"{name}[{id}]")
    return found


def test_every_failure_of_the_table_names_a_test_that_exists_and_has_its_id() -> None:
    tests = _tests_by_id()
    rows = _ROW.findall((DOCS / "explanation/failures.md").read_text())
    for letter, number, name in rows:
        assert name in tests.get(letter + number, ()), f"{letter}{number}: there is no {name}"
    assert {letter + number for letter, number, _ in rows} == tests.keys()


def test_failure_table_leaves_no_id_out() -> None:
    """Outside testers' ids (F) are not numbered without gaps; above, each has a test and each test a row."""
    rows = _ROW.findall((DOCS / "explanation/failures.md").read_text())
    for letter, last in {"A": 15, "B": 10, "C": 23, "D": 16, "E": 12}.items():
        numbers = [int(number) for x, number, _ in rows if x == letter]
        assert numbers == list(range(1, last + 1))
    found = [int(number) for letter, number, _ in rows if letter == "F"]
    assert found == sorted(set(found))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_on_a_page_compiles(page: Path) -> None:
    for block in read_blocks(page):
        if block.language == "python":
            compile(block.text, f"{page}:{block.line}", "exec")
