"""The navigation of the site, from what there is: a page that is added is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SECTIONS = (("How-to", "how-to"), ("Reference", "reference"), ("Explanation", "explanation"))


def on_config(config: Any) -> Any:
    docs = Path(config["docs_dir"])
    sections = [{title: _pages(docs, folder)} for title, folder in _SECTIONS]
    more = ["architecture.md", {"Decisions": "decisions/README.md"}]
    config["nav"] = ["index.md", "tutorial.md", *sections, {"More": more}]
    return config


def _pages(docs: Path, folder: str) -> list[str]:
    names = sorted(
        (page.name for page in (docs / folder).glob("*.md")), key=lambda name: (name != "index.md", name)
    )
    return [f"{folder}/{name}" for name in names]
