"""`headcount report`, as a person runs it: on an open team, on a closed one, on one of two generations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect
from weblab import POLITE, QUICK, TEAM, UNTIDY, WebLab

from headcount.app.progress import follow
from headcount.app.report import read_report
from headcount.app.standing_down import stand_down
from headcount.app.teams import create_team

COMMITS = f"printf 'one\\ntwo\\n' > page.txt; git add .; git commit -qm 'Add a page'; {UNTIDY}"


def git(lab: WebLab, *words: str) -> None:
    subprocess.run(["git", *words], cwd=lab.app.root, check=True, capture_output=True)


def report(lab: WebLab, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headcount", "report", *words]
    return subprocess.run(command, cwd=lab.app.root, capture_output=True, text=True, timeout=60)


def as_json(lab: WebLab, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report(lab, "--json", *words).stdout)
    return found


def finish(lab: WebLab) -> None:
    *_, last = follow(lab.app, TEAM, stand_down(lab.app, TEAM, None, "enough", force=True))
    assert last["status"] == "shutdown"


def test_the_report_of_a_closed_team_tells_what_was_saved_and_how_to_get_it_back(
    lab: WebLab, page: Page, tmp_path: Path
) -> None:
    lab.create()
    lab.start("ada", UNTIDY)
    lab.start("ben")
    finish(lab)
    said = report(lab, TEAM, "-o", str(tmp_path / "r.html"))
    summary, wrote = said.stdout.splitlines()
    assert summary.startswith("2 agents, ")
    assert summary.endswith(", no commits, one agent stopped by force, nothing lost.")
    assert wrote == f"Wrote {tmp_path}/r.html."
    page.goto(f"file://{tmp_path}/r.html")
    expect(page.get_by_role("img", name="Each member's states over time")).to_be_visible()
    restore = page.get_by_text("headcount salvage restore refs/headcount/salvage/crew/ada/1 DIR")
    expect(restore).to_be_visible()
    expect(page.locator("body")).to_contain_text("2 of 2proved gone")
    expect(page.locator("header p.summary")).to_have_text(summary)
    found = as_json(lab, TEAM, "-o", str(tmp_path / "same.html"))
    assert (tmp_path / "same.html").read_text().startswith("<!DOCTYPE html>")
    assert [(m["name"], m["outcome"], len(m["salvage"])) for m in found["members"]] == [
        ("ada", "forced", 1),
        ("ben", "clean", 0),
    ]
    assert found["summary"] == summary
    assert report(lab, TEAM, "--md").stdout.startswith(f"## `crew`: what happened\n\n{summary}\n")
    assert found["members"][0]["spans"][-1]["to"] <= found["ended"]
    assert found["standDowns"][0]["reason"] == "enough"


def test_the_report_counts_commits_also_when_the_branch_is_gone_and_misses_a_salvage_that_is_gone(
    lab: WebLab,
) -> None:
    lab.create()
    lab.start("ada", COMMITS)
    lab.start("ben", UNTIDY)
    finish(lab)
    found = read_report(lab.app, TEAM)
    ada, ben = found["members"]
    assert [c["subject"] for c in ada["commits"]] == ["Add a page"]
    assert ada["change"] == {"files": 1, "added": 2, "removed": 0}
    assert "one commit on one branch" in found["summary"] and "nothing lost" in found["summary"]
    git(lab, "branch", "-D", "headcount/crew/ada")
    git(lab, "update-ref", "-d", ben["salvage"][0]["ref"])
    again = read_report(lab.app, TEAM)
    assert again["members"][0]["commits"] == ada["commits"]  # the findings have the object id
    assert "nothing lost" in again["summary"]  # the receipt has that of the salvage
    for pack in Path(lab.app.root, ".git/objects/pack").glob("*"):
        pack.unlink()
    gone = read_report(lab.app, TEAM)
    assert "2 salvages missing" in gone["summary"] and "nothing lost" not in gone["summary"]


def test_the_report_of_an_open_team_says_that_it_is_open(lab: WebLab) -> None:
    lab.create()
    lab.start("ada")
    found = as_json(lab)
    assert (found["status"], found["ended"], found["seconds"]) == ("active", None, None)
    assert found["members"][0]["spans"][-1]["state"] == "running"
    assert "still open" in report(lab, "-o", "-").stdout


def test_a_name_that_was_used_twice_has_a_report_for_each_generation(lab: WebLab) -> None:
    for name in ("ada", "ben"):
        lab.create(QUICK)
        lab.start(name, POLITE)
        finish(lab)
    assert [m["name"] for m in as_json(lab, f"{TEAM}#1")["members"]] == ["ada"]
    assert [m["name"] for m in as_json(lab)["members"]] == ["ben"]


def test_without_a_name_and_with_several_closed_teams_they_are_named(lab: WebLab) -> None:
    for name in ("alpha", "beta"):
        create_team(lab.app, name)
        *_, last = follow(lab.app, name, stand_down(lab.app, name))
        assert last["status"] == "shutdown"
    said = json.loads(report(lab, "--json").stdout)["error"]
    assert (said["code"], said["why"]) == ("which-team", "these are closed: alpha, beta")


def test_a_team_that_never_was_has_no_report(lab: WebLab) -> None:
    said = report(lab, "--json", "nobody")
    assert (said.returncode, json.loads(said.stdout)["error"]["code"]) == (2, "unknown-team")
    assert report(lab, "--json", "nobody#3").returncode == 2
