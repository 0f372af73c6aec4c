"""A reviewer that never says a word holds its task: the run says whom it waits for, and what can be done."""

from __future__ import annotations

from .lab import RunLab


def test_a_silent_reviewer_is_named_by_the_run_and_its_successor_ends_the_task(lab: RunLab) -> None:
    lab.plan({1: {"spec": ["silent", "pass"]}})
    lab.settings(stall_timeout_s=2)
    run = lab.start("run", lab.define({1: ()}))
    assert run.stderr is not None
    shown = [next(line for line in run.stderr if "waits for spec#1" in line and "quality#1" not in line)]
    shown.append(next(line for line in run.stderr if "shows no progress" in line))
    assert shown[0].strip() == "1  reviewing     Part 1: ada#1; waits for spec#1"
    assert "spec#1 shows" in shown[1]
    assert "`headcount cycle spec`" in shown[1]
    assert lab.headcount("cycle", "spec").returncode == 0
    out, err = run.communicate(timeout=100)
    assert run.returncode == 0, (out, err)
    assert "quality#1 shows" not in "".join(shown) + err, "it has said its word"
