"""The first sentence of the report, and the report as Markdown for a pull request."""

from __future__ import annotations

from typing import Any

import pytest
from markdown_it import MarkdownIt

from headcount.app.report_summary import show_duration, summarize
from headcount.web.report_markdown import code, write_markdown

CLEAN = {"items": [], "clean": True, "spotless": True, "head": None}
DIRTY = {"items": [{"kind": "untracked", "what": "x"}], "clean": False, "spotless": False, "head": None}
PROVED = {"empty": True, "method": "cgroup+mark", "processes": [], "alive": [], "doubt": ""}


def commit(number: int, subject: str = "Add a thing") -> dict[str, str]:
    return {"commit": f"{number:040x}", "author": "ada", "at": "", "subject": subject}


def member(name: str = "ada", **more: Any) -> dict[str, Any]:
    return {
        "name": name, "generation": 1, "role": "worker", "state": "gone", "outcome": "clean", "task": None,
        "failure": None, "cause": None, "branch": f"headcount/crew/{name}", "processes": PROVED,
        "salvage": [],
        "findings": CLEAN, "usage": None, "commits": [], "change": None,
        "seconds": {"working": 5.0, "idle": 0.0, "paused": 0.0, "limited": 0.0}, **more,
    }  # fmt: skip


def saved(**more: Any) -> dict[str, Any]:
    return {"ref": "refs/headcount/salvage/crew/ada/1", "commit": "c" * 40, "lost": False, **more}


def report(members: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "summary": "", "team": "crew", "teamId": "crew#1", "began": 0.0, "ended": 540.0, "members": members,
        "tasks": [], "run": None, "cost_usd": None, "warnings": [], **more,
    }  # fmt: skip


def say(members: list[dict[str, Any]], **more: Any) -> str:
    return summarize(report(members, **more), 540.0)


def test_the_sentence_says_what_was_made_how_it_ended_and_what_it_cost() -> None:
    usage = {"tokens": 1, "turns": 1, "cost_usd": 0.3}
    team = [
        member("ada", commits=[commit(1), commit(2)], usage=usage),
        member("ben", commits=[commit(3), commit(4)], usage=usage),
        member("cy", commits=[commit(5), commit(6)], usage=usage, outcome="forced", findings=DIRTY,
               salvage=[saved()]),
        member("dov", commits=[commit(7), commit(8)], usage=usage),
        member("eve", branch=None),
    ]  # fmt: skip
    reviews = [{"verdict": "changes"}, {"verdict": "changes"}, {"verdict": "pass"}]
    assert say(team, run={"reviews": reviews}, cost_usd=1.2) == (
        "5 agents, 9 minutes, 8 commits on 4 branches, 2 reviews asked for changes, "
        "one agent stopped by force, nothing lost, $1.20."
    )


def test_one_of_a_thing_is_singular_and_none_is_said() -> None:
    one = member(commits=[commit(1)])
    run = {"reviews": [{"verdict": "changes"}]}
    assert say([one], run=run) == (
        "One agent, 9 minutes, one commit on one branch, one review asked for changes, nothing lost."
    )
    assert say([member()]) == "One agent, 9 minutes, no commits, nothing lost."
    assert say([]) == "No agents, 9 minutes, no commits, nothing lost."


def test_a_successor_does_not_count_its_predecessors_commits_again() -> None:
    first = member(commits=[commit(1)])
    second = member(generation=2, commits=[commit(2), commit(1)])
    assert say([first, second]).startswith("One agent, 9 minutes, 2 commits on one branch")


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (member(findings={**DIRTY, "items": [{"kind": "missing", "what": "x"}]}),
         "one workspace removed before it was saved"),
        (member(findings=None), "the work of one agent not inspected"),
        (member(findings=DIRTY), "the work of one agent not saved, in a workspace that was kept"),
        (member(findings=DIRTY, salvage=[saved(lost=True)]), "one salvage missing"),
    ],
    ids=["removed", "not inspected", "not saved", "salvage missing"],
)  # fmt: skip
def test_nothing_lost_is_not_said_where_work_is_lost_or_was_not_seen(one: dict[str, Any], said: str) -> None:
    sentence = say([one, member("ben")])
    assert said in sentence
    assert "nothing lost" not in sentence


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (member(processes=None), "one agent not fully proved gone"),
        (member(processes={**PROVED, "doubt": "its keeper died"}), "one agent not fully proved gone"),
        (member(state="stuck", outcome=None), "one agent could not be stopped"),
        (member(commits=None), "no commits (those of one agent not known)"),
        (member(cause="no login"), "one agent failed"),
        (member(failure="no such command"), "No agents, one agent never started"),
    ],
    ids=["no proof", "doubt", "stuck", "commits unknown", "failed", "never started"],
)
def test_the_sentence_names_what_is_not_proved_or_not_known(one: dict[str, Any], said: str) -> None:
    assert said in say([one])


def test_of_an_open_team_the_sentence_promises_nothing() -> None:
    there = member("ben", state="running", outcome=None, processes=None, findings=None)
    sentence = say([member(), there], ended=None)
    assert sentence == "2 agents, 9 minutes so far, no commits, one agent still there."


def test_costs_of_clients_that_report_none_are_not_taken_for_zero() -> None:
    silent = member("ben", usage={"tokens": 9, "turns": 1})
    assert say([silent]).endswith(", cost not reported.")
    paid = member(usage={"tokens": 9, "turns": 1, "cost_usd": 0.5})
    assert say([paid, silent], cost_usd=0.5).endswith(", $0.50 (without one agent that reported none).")


def test_durations_are_words() -> None:
    said = [show_duration(s) for s in (0.2, 1, 45, 89.6, 540, 3600, 5400, 7500, 90_000)]
    assert said == [
        "under a second", "one second", "45 seconds", "one minute", "9 minutes", "60 minutes",
        "one hour 30 minutes", "2 hours 5 minutes", "one day one hour",
    ]  # fmt: skip


HOSTILE = [
    "`code` @octocat fixes #12 and owner/repo#7, GH-3, !4",
    "# heading\n- [ ] item\n/close\n@team",
    "[link](https://example.org) ![](x) <img src=x> <script>",
    "``` \n fence\n```",
    "|table| \\| \\` \\",
    "`",
    "",
    "a\u202eb\u200bc\x1b[2J\u2028d",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_member_wrote_is_one_code_span_of_one_line(text: str) -> None:
    (block,) = [token for token in MarkdownIt("gfm-like", {"linkify": False}).parse(f"- {code(text)}")
                if token.type == "inline"]  # fmt: skip
    assert [child.type for child in block.children or ()] == ["code_inline"]
    shown = (block.children or [])[0].content
    assert not any(found in shown for found in ("@octocat", "@team", "#12", "#7", "GH-3", "!4", "://"))
    assert shown.isprintable() and "\u202e" not in shown


def test_every_text_of_a_member_is_a_code_span_in_the_pull_request() -> None:
    text = "@octocat closes #12 <b>`x`</b>"
    task = {"id": "1", "subject": text, "status": "complete", "owner": text, "reason": text}
    review = {"task": "1", "key": "spec#1", "verdict": "changes", "words": text}
    one = member(
        branch=text,
        task="1",
        commits=[commit(1, text)],
        change={"files": 1, "added": 2, "removed": 0},
        salvage=[saved(ref=text)],
    )
    run = {"tasks": [], "reviews": [review]}
    page = write_markdown(report([one], tasks=[task], warnings=[text], run=run))
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(page)
    plain = [c for token in tokens for c in token.children or () if c.type != "code_inline"]
    assert {c.type for c in plain} <= {"text", "softbreak"}
    assert not [c.content for c in plain if "octocat" in c.content or "#" in c.content]
    assert "html_block" not in {token.type for token in tokens}
    assert page.count("@ octocat") == 8 and "@octocat" not in page and "#12" not in page


def test_the_pull_request_shows_tasks_commits_and_time() -> None:
    task = {"id": "1", "subject": "Parse words", "status": "complete", "owner": "ada", "reason": ""}
    one = member(
        task="1",
        commits=[commit(1)],
        change={"files": 3, "added": 120, "removed": 4},
        usage={"tokens": 1, "turns": 1, "cost_usd": 0.25},
        seconds={"working": 60.0, "idle": 30.0, "paused": 5.0, "limited": 0.0},
    )
    page = write_markdown(report([one], tasks=[task], summary="One agent."))
    assert page.startswith("## `crew`: what happened\n\nOne agent.\n\n### Tasks\n")
    assert "- `1` `Parse words`: complete, by `ada`, one commit, +120 -4 in 3 files, $0.25\n" in page
    assert "- `ada`: worked 1 min, idle 30 s, paused 5 s; clean\n" in page


def test_a_description_of_a_large_team_fits_on_its_host() -> None:
    tasks = [{"id": str(n), "subject": "s" * 500, "status": "complete", "owner": None, "reason": "r" * 90}
             for n in range(1000)]  # fmt: skip
    team = [
        member(f"m{n}", commits=[commit(n)], change={"files": 1, "added": 1, "removed": 0})
        for n in range(300)
    ]
    page = write_markdown(report(team, tasks=tasks))
    assert len(page) < 65_536
    assert "- and 900 more" in page and "- and 200 more" in page
