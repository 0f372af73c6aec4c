"""The how-to guides, done by a reader who has the tutorial's team in front of them."""

from __future__ import annotations

import re

import pytest

from .pages import DOCS, read_blocks
from .reader import Reader

# Guides that need nothing but what the tutorial has. Others need a client, and have tests of their own.
GUIDES = (
    "a-second-copy",
    "answer-your-team", "bound-what-a-team-takes", "cycle-a-member", "decide-escalations",
    "go-back-in-a-workspace",
    "judge-with-a-model", "keep-the-disk-clean", "look-at-a-team", "move-from-tsx-to-python",
    "notify-on-escalation", "restore-from-salvage", "run-any-command", "run-tasks", "set-up-workspaces",
    "shared-workspaces-and-finalizers",
    "stand-down-single-members", "sweep-after-a-crash", "take-over-the-work", "uninstall", "use-in-ci",
)  # fmt: skip


@pytest.mark.timeout(240)
@pytest.mark.parametrize("guide", GUIDES)
def test_guide_shows_what_its_commands_print(guide: str, reader: Reader) -> None:
    _define_the_tutorials_team(reader)
    reader.follow(DOCS / f"how-to/{guide}.md")


def _define_the_tutorials_team(reader: Reader) -> None:
    """Everything up to the commit: the agents, the definition, the settings."""
    blocks = read_blocks(DOCS / "tutorial.md")
    end = next(i for i, block in enumerate(blocks) if "headcount build" in block.text)
    reader.follow_blocks(blocks[:end])


def test_index_lists_every_guide() -> None:
    index = (DOCS / "how-to/index.md").read_text()
    guides = {page.name for page in (DOCS / "how-to").glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == guides
