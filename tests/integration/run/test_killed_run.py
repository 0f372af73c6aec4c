"""`headcount run`, killed at random moments and called again: the same result, nothing twice, nothing lost.

Five kills by default. All thirty, with a seed of one's own:

    HEADCOUNT_RUN_KILLS=30 HEADCOUNT_SEED=7 pytest --timeout 600 tests/integration/run/test_killed_run.py
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time

import pytest

from .lab import TWELVE, RunLab, check_I4, most_alive, wait_until

KILLS = int(os.environ.get("HEADCOUNT_RUN_KILLS", "5"))
SEED = int(os.environ.get("HEADCOUNT_SEED", str(random.randrange(10**6))))
MEMBERS, AT_ONCE = 9, 3
HARD = {
    3: {"spec": ["name it better", "and test it", "pass"]},
    5: {"work": ["die", "work"]},
    8: {"work": ["dirty", "work"]},
}


@pytest.mark.timeout(120 + 12 * KILLS)
def test_a_run_killed_again_and_again_comes_to_the_same_end(lab: RunLab) -> None:
    print(f"HEADCOUNT_SEED={SEED}")
    rng = random.Random(SEED)
    lab.settings(max_members=MEMBERS, tasks_at_once=AT_ONCE)
    lab.plan(HARD, pace=KILLS / 15)  # long enough to be killed so often
    definition = lab.define(TWELVE)
    kills = 0
    run = lab.start("run", definition, "--json")
    while kills < KILLS:
        # The first second is the start of Python and the recovery: kills fall into both, and after.
        if _ends(lab, run, rng.uniform(0.2, 2.0)):
            break
        lab.kill_run(run)
        kills += 1
        run = lab.start("run", definition, "--json")
    assert _ends(lab, run, 100), "it did not come to an end"
    out, err = run.communicate()
    if run.returncode == 1 and json.loads(out)["status"] == "escalated":
        # All that was left was our decision, and it was not quick enough.
        lab.decide_all("reassign")
        run = lab.start("run", "--follow", "--json")
        assert _ends(lab, run, 100)
        out, err = run.communicate()
    assert run.returncode == 0, (out, err)
    assert json.loads(out)["status"] == "complete"
    assert kills == KILLS, "it ended before it was killed often enough"

    assert lab.merges() == {str(task): 1 for task in TWELVE}
    for task in TWELVE:
        assert "done by" in lab.merged_file(task)
    assert lab.merged_file(3).count("improved") == 2
    # What each lost worker left is in the work of the next.
    assert lab.merged_file(5).startswith("half done\n")
    assert "lying-about.txt" in lab.git("ls-tree", "--name-only", "headcount/crew/integration")
    journal = lab.journal()
    assert most_alive(journal) <= MEMBERS
    check_I4(journal, AT_ONCE)
    merged = [e.about for e in journal if e.kind == "task_moved" and e.data["cue"] == "merged"]
    assert sorted(merged, key=int) == [str(task) for task in TWELVE]
    wait_until(lambda: lab.marked() == [])


def _ends(lab: RunLab, run: subprocess.Popen[str], limit_s: float) -> bool:
    """Whether it ended by itself in that time; what is escalated meanwhile is decided."""
    deadline = time.monotonic() + limit_s
    while run.poll() is None:
        if time.monotonic() > deadline:
            return False
        lab.decide_all("reassign")
        time.sleep(0.05)
    return True
