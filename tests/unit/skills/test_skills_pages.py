"""The generated instructions: what must be in them, and that they follow the policy and the tables."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from headcount.domain.policy import Policy
from headcount.domain.settings import Gates, Integration, Settings
from headcount.protocol.authority import MAY
from headcount.skills import pages, write_skills

DEFAULT = Settings()


def page(name: str, settings: Settings = DEFAULT) -> str:
    return next(p.body for p in pages(settings) if p.name == name)


def section(text: str, heading: str) -> str:
    """From a heading to the next of the same rank or a higher one."""
    rank = len(heading) - len(heading.lstrip("#"))
    after = text[text.index(f"\n{heading}\n") + len(heading) + 2 :]
    end = re.search(rf"^#{{1,{rank}}} ", after, re.MULTILINE)
    return after[: end.start()] if end else after


def test_the_lead_skill_has_every_required_section_in_less_than_400_lines() -> None:
    text = page("lead")
    for heading in (
        "## Shutdown Verification", "### Step 1: Request shutdown", "### Step 2: Verify shutdown",
        "## STEP 5: Task execution loop", "### 6.3 Complete phase", "## Red Flags", "## Error Handling",
    ):  # fmt: skip
        assert f"\n{heading}\n" in text
    assert re.findall(r"^### (5\.\d)", text, re.MULTILINE) == [f"5.{n}" for n in range(1, 8)]
    assert text.index("## Team Shutdown") < text.index("## Shutdown Verification")
    for name, body in write_skills(DEFAULT, "1").items():
        assert len(body.splitlines()) < 400, name


def test_shutdown_comes_after_both_reviews_and_before_complete() -> None:
    loop = section(page("lead"), "## STEP 5: Task execution loop")
    order = [loop.index(f"### 5.{n} ") for n in range(1, 8)]
    assert order == sorted(order)
    shutdown = section(loop, "### 5.5 Shut down ALL agents of this task")
    assert re.findall(r'"recipient": "([a-z-]+)"', shutdown) == [
        "worker", "spec-reviewer", "code-quality-reviewer",
    ]  # fmt: skip


def test_the_red_flags_name_the_four_and_four_about_cleanup() -> None:
    never, always = section(page("lead"), "## Red Flags").split("**Always:**")
    for words in (
        "before the current agents are shut down", "Skip shutdown verification", "Leave teammates running",
        "without requesting shutdown of ALL",
    ):  # fmt: skip
        assert words in never
    for words in (
        "Request shutdown of worker, spec-reviewer and code-quality-reviewer", "before the next task",
        "Run team cleanup", "Log a warning",
    ):  # fmt: skip
        assert words in always


def test_the_checklist_has_six_items_and_the_cleanup() -> None:
    complete = section(page("lead"), "### 6.3 Complete phase")
    assert re.findall(r"^(\d)\. \[ \] ", complete, re.MULTILINE) == list("123456")
    assert '"team_shutdown"' in complete
    assert "Only after ALL items" in complete


def test_the_witness_and_the_member_have_their_sections() -> None:
    witness = page("witness")
    for heading in (
        "## Pre-Kill Verification Protocol", "### Nudge Templates", "## Kill Sequence", "## Escalation",
        "## Session Cycling", "### Handoff Note Format", "### On Fresh Session Start",
    ):  # fmt: skip
        assert f"\n{heading}\n" in witness
    assert witness.count("WITNESS CHECK: ") == 3
    assert "WITNESS VERIFICATION FAILED" in witness
    member = page("member")
    for heading in ("## Pre-Done Verification", "## If Any Check Fails", "## Signaling Done"):
        assert f"\n{heading}\n" in member


def test_the_authority_page_is_the_table_that_calls_are_checked_against() -> None:
    text = page("authority")
    for action, allowed in MAY.items():
        if action in ("status", "read_mail"):
            continue
        row = next(line for line in text.splitlines() if line.startswith(f"| {action.replace('_', ' ')} |"))
        assert row.count("yes") == len(allowed)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("lead", Settings(policy=Policy(answer_timeout_s=45)), "Wait 45 seconds for the acknowledgment"),
        ("lead", Settings(policy=Policy(max_attempts=5)), "found dirty 5 times"),
        ("lead", Settings(policy=Policy(review_rounds=2)), "at most twice; then the task is blocked"),
        ("lead", Settings(policy=Policy(tasks_at_once=4)), "at most 4 at once"),
        ("lead", Settings(policy=Policy(max_waits=0)), "may be chosen never"),
        ("lead", Settings(policy=Policy(cleanup_retries=0)), "It is not retried"),
        ("lead", Settings(gates=Gates(verify="make test")), "Run `make test` on what you merged"),
        ("lead", Settings(gates=Gates(max_total_lines=150)), "everything that the phase added: 150 lines"),
        ("witness", Settings(policy=Policy(judge_timeout_s=7)), "within 7 seconds"),
        ("witness", Settings(policy=Policy(nudge_timeout_s=33)), "each 33 seconds"),
        ("witness", Settings(policy=Policy(stop_grace_s=3)), "sent SIGTERM (3 seconds)"),
        ("witness", Settings(policy=Policy(cycle_after_s=3600)), "After 3600 seconds you are cycled"),
        ("member", Settings(policy=Policy(require_merged="always")), "git log --oneline headcount/"),
        ("member", Settings(policy=Policy(require_merged="always")), "**Not merged:** complete the merge"),
        ("member", Settings(integration=Integration(sync="make sync")), "make sync"),
    ],
)
def test_changing_a_number_in_the_policy_changes_the_text(name: str, settings: Settings, words: str) -> None:
    flat = " ".join(page(name, settings).split())
    assert words in flat
    assert words not in " ".join(page(name).split())


def test_what_is_in_the_plugin_is_what_is_in_the_sections() -> None:
    files = write_skills(replace(DEFAULT), "1.2.3")
    assert '"version": "1.2.3"' in files["claude/.claude-plugin/plugin.json"]
    for each in pages(DEFAULT):
        assert files[f"agents/{each.name}.md"] == each.body
        assert files[f"claude/skills/{each.name}/SKILL.md"].endswith(each.body)


def test_the_lead_skill_says_how_a_worker_works() -> None:
    lead = next(p.body for p in pages(DEFAULT) if "STEP 5" in p.body)
    assert "Write a failing test first" in lead


def test_the_witness_is_told_the_four_signs_to_cycle() -> None:
    witness = next(p.body for p in pages(DEFAULT) if "## Session Cycling" in p.body)
    assert section(witness, "### Recognizing When to Cycle").count("\n- ") >= 3
    for sign in ("many hours", "losing track", "slower or less coherent", "something complex"):
        assert sign in witness
