"""Whole runs of `headcount run`, with real processes, real git and a real store."""

from __future__ import annotations

from .lab import TWELVE, RunLab, check_I4, most_alive, wait_until

HARD = {
    3: {"spec": ["name it better", "and test it", "pass"]},
    5: {"work": ["die", "work"]},
    8: {"work": ["dirty", "work"]},
}
MEMBERS, AT_ONCE = 9, 3


def test_twelve_tasks_with_every_trouble_end_complete_within_the_policy(lab: RunLab) -> None:
    lab.settings(max_members=MEMBERS, tasks_at_once=AT_ONCE)
    lab.plan(HARD)
    run = lab.start("run", lab.define(TWELVE), "--json")
    lab.wait_entry("escalated", 60)
    [escalation] = lab.json("escalations")
    lab.json("decide", escalation["id"], "reassign")
    out, err = run.communicate(timeout=110)
    assert run.returncode == 0, (out, err)

    assert lab.merges() == {str(task): 1 for task in TWELVE}
    for task in TWELVE:
        assert "done by" in lab.merged_file(task)
    journal = lab.journal()
    assert most_alive(journal) <= MEMBERS
    check_I4(journal, AT_ONCE)
    wait_until(lambda: lab.marked() == [])
