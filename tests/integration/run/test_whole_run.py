"""Whole runs of `headcount run`, with real processes, real git and a real store."""

from __future__ import annotations

import json

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
    if run.returncode == 1 and json.loads(out)["status"] == "escalated":
        lab.json("run", "--follow")  # everything else was over before the decision
    else:
        assert run.returncode == 0, (out, err)

    assert lab.merges() == {str(task): 1 for task in TWELVE}
    for task in TWELVE:
        assert "done by" in lab.merged_file(task)
    journal = lab.journal()
    assert most_alive(journal) <= MEMBERS
    check_I4(journal, AT_ONCE)
    wait_until(lambda: lab.marked() == [])

    assert lab.merged_file(3).count("improved") == 2
    assert lab.merged_file(5).startswith("half done\n")
    words = [s["text"] for s in lab.said() if s["task"] == "3" and "Changes requested" in s["text"]]
    assert ["name it better" in words[0], "and test it" in words[1]] == [True, True]
    seats = [e.data for e in journal if e.kind == "task_member" and e.about == "8"]
    workers = {seat["key"].partition("#")[0] for seat in seats if seat["role"] == "worker"}
    assert len(workers) == 2, "reassigned means somebody else"
    with lab.app() as app, app.store.read() as tx:
        mail = tx.inbox("crew#1", ["lead"])
    assert len([m for m in mail if m.template == "WORKER_ESCALATION"]) == 1
    assert len([m for m in mail if m.subject == "Swarm complete: crew"]) == 1


def test_a_run_in_terminals_goes_as_one_without(lab: RunLab) -> None:
    lab.settings("[agents]\nterminal = true\n", tasks_at_once=2)
    lab.plan({1: {"spec": ["name it better"]}, 2: {"work": ["die", "work"]}})
    run = lab.run(lab.define({1: (), 2: (), 3: (1, 2)}))
    assert run["status"] == "complete"
    with lab.app() as app, app.store.read() as tx:
        assert {start["runtime"] for start in tx.facts("crew#1", "start").values()} == {"tmux"}
    assert lab.merges() == {"1": 1, "2": 1, "3": 1}
    check_I4(lab.journal(), 2)
    wait_until(lambda: lab.marked() == [])
