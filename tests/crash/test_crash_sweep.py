"""A slice of the sweep; the whole of it by `python -m tests.crash.sweep`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .story import MADE, make_repository
from .sweep import Trial, run_trial
from .verdict import alive, lost

# Spread over the whole life: starting, asking, a refusal, inspecting, salvaging, stopping, closing.
_SLICE = [
    *(Trial(write, "after") for write in (4, 24, 44, 64)),
    *(Trial(write, "before") for write in (14, 34, 54)),
    Trial(moments=(1.5, 0.9, 1.2)),
    Trial(moments=(3.0,)),
    Trial(30, "before", speaking=True),
    Trial(moments=(4.0, 2.0), speaking=True),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("trial", _SLICE, ids=str)
def test_C7_D1_D2_whenever_the_engine_is_killed_no_agent_is_left_and_no_work_is_lost(
    trial: Trial, tmp_path: Path
) -> None:
    result = run_trial(trial, str(tmp_path))
    while result.problems == [] and result.kills == 0 and trial.write > 40:
        # Where much is heard at once, as on a busy machine, there are fewer writes: so at an earlier one.
        trial = trial._replace(write=trial.write - 4)
        result = run_trial(trial, str(tmp_path))
    print(f"{trial}: {result.kills} kills, {result.seconds:.1f} s")
    assert result.problems == []
    assert result.kills > 0


def test_the_verdict_sees_a_process_that_is_left(tmp_path: Path) -> None:
    place = str(tmp_path / "place")
    env = {"PATH": os.environ["PATH"], "HEADCOUNT_HOME": f"{place}/.headcount"}
    stray = subprocess.Popen(["cat"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert stray.stdin is not None and stray.stdout is not None
    try:
        stray.stdin.write(b"\n")  # its echo says that its exec is over: until then it has no environment
        stray.stdin.flush()
        assert stray.stdout.readline()
        assert len(alive(place)) == 1
    finally:
        stray.kill()
        stray.communicate()
    assert alive(place) == []


def test_the_verdict_sees_work_that_no_ref_leads_to(tmp_path: Path) -> None:
    place = str(tmp_path / "place")
    make_repository(place)
    os.makedirs(f"{place}/.headcount")
    assert len(lost(place)) == sum(map(len, MADE.values()))
    for name, contents in MADE.items():
        for number, content in enumerate(contents):
            Path(f"{place}/{name}-{number}").write_text(content)
    git = ["git", "-C", place, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run([*git, "add", "--all"], check=True)
    assert lost(place) != []
    subprocess.run([*git, "commit", "--quiet", "-m", "all of it"], check=True)
    assert lost(place) == []
