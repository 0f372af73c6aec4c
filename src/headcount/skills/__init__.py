"""Instructions for agents, written from the rules and the policy, so that they cannot drift from either.

`write_skills` gives them as files: a plugin for Claude Code, and the same as sections for an AGENTS.md. Every
command and every JSON in them is real: a test carries each out against a live team.
"""

from headcount.skills.page_files import Page, pages, write_skills

__all__ = ["Page", "pages", "write_skills"]
