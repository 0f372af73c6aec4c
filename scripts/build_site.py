"""Build the documentation site, by default into `site/`: `python scripts/build_site.py [DIRECTORY]`.

The pages are copied and built aside, so a build leaves nothing but the site. Decisions and the list of
statements are left out of the search: they answer why the code is as it is, and would hide the guides.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOT_SEARCHED = ("decisions/", "reference/statements.html", "explanation/failures.html")
# What is shown instead of a heading: the page for the reference, or else the section of the site.
BELOW_GUIDES = {"reference/": -1, "explanation/": 0, "architecture.html": 0}


def build(target: Path) -> None:
    """Fail on any warning: a broken link, an anchor or a page that is not there."""
    with tempfile.TemporaryDirectory() as aside:
        shutil.copytree(ROOT / "docs", Path(aside, "docs"))
        shutil.copy(ROOT / "zensical.toml", aside)
        subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=aside, check=True)
        prefer_guides(Path(aside, "site/search.json"))
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(Path(aside, "site"), target)


def prefer_guides(index: Path) -> None:
    """Leave pages out, and weigh the headings of others as text: the search ranks a match in a title first.

    A reader who looks for an error code, a command or a key still finds it, below the guides.
    """
    found = json.loads(index.read_text())
    items = [item for item in found["items"] if not item["location"].startswith(NOT_SEARCHED)]
    for item in items:
        shown = next((n for place, n in BELOW_GUIDES.items() if item["location"].startswith(place)), None)
        if shown is not None:
            item["text"] = f"<p>{item['title']}</p> {item['text']}"
            item["title"] = item["path"][shown]
    index.write_text(json.dumps({**found, "items": items}, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site")
