"""Which settings of a remote endanger the refs of headcount."""

from __future__ import annotations

import pytest

from headcount.workspace.git_settings import Entry, find_risks

MIRROR = ("remote.origin.fetch", "+refs/*:refs/*")
USUAL = ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([MIRROR, ("remote.origin.prune", "true")], ["git fetch origin"]),
        ([MIRROR, ("fetch.prune", None)], ["git fetch origin"]),
        (
            [("remote.a.b.fetch", "refs/headcount/*:refs/headcount/*"), ("fetch.prune", "1")],
            ["git fetch a.b"],
        ),
        ([("remote.origin.mirror", "true"), MIRROR], ["git push origin"]),
        ([("remote.origin.push", "+refs/*:refs/*"), USUAL], ["git push origin"]),
        ([("remote.origin.push", "refs/*")], ["git push origin"]),
        ([("remote.origin.push", "refs/headcount/salvage/t/a/1")], ["git push origin"]),
        ([("remote.a.push", "refs/*"), ("remote.a.push", "^refs/headcount/x/*")], ["git push a"]),
    ],
)
def test_F53_refspec_that_covers_our_refs_is_found(entries: list[Entry], words: list[str]) -> None:
    risks = find_risks(entries)
    assert [risk.what.split("`")[1] for risk in risks] == words
    assert all(risk.do for risk in risks)


@pytest.mark.parametrize(
    "entries",
    [
        [MIRROR],
        [USUAL, ("fetch.prune", "true"), ("remote.origin.prune", "true")],
        [MIRROR, ("fetch.prune", "true"), ("remote.origin.prune", "false")],
        [USUAL, ("remote.origin.push", "refs/heads/*:refs/heads/*"), ("remote.origin.mirror", "false")],
        [("remote.origin.fetch", "^refs/*"), ("fetch.prune", "true")],
        [("remote.origin.push", "refs/*:refs/*"), ("remote.origin.push", "^refs/headcount/*")],
        [],
    ],
)
def test_F53_usual_settings_are_no_risk(entries: list[Entry]) -> None:
    assert find_risks(entries) == []
