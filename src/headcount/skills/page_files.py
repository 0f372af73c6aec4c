"""Write the pages as files: a plugin for Claude Code, and sections for an AGENTS.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from headcount.skills.lead_page import lead_skill
from headcount.skills.member_page import member_checklist
from headcount.skills.page_parts import authority_page
from headcount.skills.witness_page import witness_instructions

if TYPE_CHECKING:
    from headcount.domain.settings import Settings

PLUGIN = "headcount"


_README = """\
# headcount

How the lead, the witness and the members of a headcount team work together, and how each of them ends: asked,
inspected, saved, stopped and proved gone. The skills are written by `headcount skills` from the rules and the
policy in `headcount.toml`; write them again after you have changed a number there. Their commands need the
program `headcount` on PATH, their tools the MCP server `headcount mcp`.
"""


class Page(NamedTuple):
    name: str
    description: str
    body: str


def pages(settings: Settings) -> tuple[Page, ...]:
    policy = settings.policy
    return (
        Page(
            "lead",
            "Lead a headcount team: give out tasks, reviews, shutdown with verification, gates, escalations. "
            "Use it when you are the lead of a team.",
            lead_skill(policy, settings.gates),
        ),
        Page(
            "witness",
            "Watch over a headcount team: inspect workspaces, judge them, nudge, stop, escalate, hand over. "
            "Use it when you are the witness of a team.",
            witness_instructions(policy),
        ),
        Page(
            "member",
            "The decommission checklist of a headcount team's member. Use it before you signal that you are "
            "done, and when you are asked to stand down.",
            member_checklist(policy, settings.integration),
        ),
        Page(
            "authority",
            "Who may do what in a headcount team, and who cleans up. Use it when you are unsure whether "
            "something is yours to do.",
            authority_page(),
        ),
    )


def write_skills(settings: Settings, version: str) -> dict[str, str]:
    """Return the files by path. `claude/` is a plugin; `agents/` has a section for each role's AGENTS.md."""
    files = {"claude/.claude-plugin/plugin.json": _manifest(version), "claude/README.md": _README}
    for page in pages(settings):
        files[f"claude/skills/{page.name}/SKILL.md"] = _front_matter(page) + page.body
        files[f"agents/{page.name}.md"] = page.body
    return files


def _manifest(version: str) -> str:
    about = {
        "name": PLUGIN,
        "version": version,
        "description": "How the lead, the witness and the members of a headcount team work, and "
        "how they end.",
        "author": {"name": "The headcount maintainers"},
        "license": "MIT",
    }
    return json.dumps(about, indent=2) + "\n"


def _front_matter(page: Page) -> str:
    return f"---\nname: {page.name}\ndescription: {json.dumps(page.description)}\n---\n\n"
