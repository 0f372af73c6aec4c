"""`headcount run` as a person meets it: refused, interrupted, called twice, in a checkout that is in use."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys

from headcount.app.teams import create_team

from .lab import TEAM, RunLab, wait_until

BRANCH = f"headcount/{TEAM}/integration"


def test_a_run_that_is_refused_leaves_no_team_behind(lab: RunLab) -> None:
    lab.git("checkout", "--quiet", "-b", BRANCH)
    definition = lab.define({1: ()}, reviewers=())
    refused = lab.headcount("run", definition)
    assert refused.returncode == 1
    assert "[branch-in-use]" in refused.stderr
    assert lab.json("status") == []
    lab.git("checkout", "--quiet", "main")
    assert lab.run(definition)["status"] == "complete"


def test_a_task_that_does_not_fit_the_list_is_named_before_there_is_a_team(lab: RunLab) -> None:
    file = lab.define({1: [], 2: []})
    lab.settings("[limits]\ndescription_bytes = 10\n")
    done = lab.headcount("run", file)
    assert done.returncode == 2 and "prompt of task 1 (t1) is too long" in done.stderr
    assert lab.json("status") == []
    assert "integration" not in lab.git("branch", "--all")


def test_without_a_repository_or_a_task_it_is_refused_with_what_to_do(lab: RunLab) -> None:
    definition = lab.define({1: ()})
    (lab.desk / "empty").mkdir()
    words = [sys.executable, "-m", "headcount", "run", definition]
    refused = subprocess.run(
        words, cwd=lab.desk / "empty", env=lab.env, capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 2
    assert "git init" in refused.stderr
    missing = lab.headcount("run", str(lab.desk / "nowhere.py"))
    assert missing.returncode == 2
    assert "There is no file" in missing.stderr


def test_a_run_that_died_between_its_team_and_its_tasks_is_begun_by_the_next(lab: RunLab) -> None:
    with lab.app() as app:
        create_team(app, TEAM, mode="run", environ=lab.env)
    assert lab.run(lab.define({1: ()}, reviewers=()))["status"] == "complete"


def test_a_team_that_was_started_by_hand_is_not_taken_over(lab: RunLab) -> None:
    with lab.app() as app:
        create_team(app, TEAM, environ=lab.env)
    refused = lab.headcount("run", lab.define({1: ()}, reviewers=()))
    assert refused.returncode == 1
    assert "was not started by run" in refused.stderr


def test_the_users_checkout_and_branch_stay_as_they_are(lab: RunLab) -> None:
    (lab.repo / "README").write_text("half an idea\n")
    (lab.repo / "notes.txt").write_text("mine\n")
    before = lab.git("status", "--porcelain"), lab.git("rev-parse", "main")
    lab.run(lab.define({1: ()}, reviewers=()))
    assert (lab.git("status", "--porcelain"), lab.git("rev-parse", "main")) == before
    assert "half an idea" not in lab.git("show", f"{BRANCH}:README")


def test_the_next_run_starts_from_what_the_user_has_taken_over(lab: RunLab) -> None:
    definition = lab.define({1: ()}, reviewers=(), workflow="max_total_lines=1")
    lab.run(definition)
    lab.git("merge", "--quiet", "--no-ff", "-m", "take over", BRANCH)
    (lab.repo / "by-hand.txt").write_text("1\n2\n3\n")
    lab.git("add", "by-hand.txt")
    lab.git("commit", "--quiet", "-m", "by hand")
    assert lab.run(definition)["status"] == "complete", "and only its own lines are counted"
    assert lab.git("show", f"{BRANCH}:by-hand.txt") == "1\n2\n3\n"


def test_a_definition_that_changed_under_a_run_is_said_and_not_mixed_in(lab: RunLab) -> None:
    lab.plan({1: {"work": ["empty", "work"]}})
    lab.settings(review_rounds=0)
    lab.run(lab.define({1: ()}, reviewers=()), code=1)
    again = lab.headcount("run", lab.define({1: (), 2: ()}, reviewers=()))
    assert again.returncode == 0
    assert "continues with its original tasks" in again.stderr
    assert lab.merges() == {"1": 1}


def test_a_run_that_is_detached_is_followed_to_its_end(lab: RunLab) -> None:
    definition = lab.define({1: ()}, reviewers=())
    begun = lab.headcount("run", definition, "--detach")
    assert (begun.returncode, begun.stdout) == (
        0, f"crew runs in the background. Watch it with `headcount run --follow {definition}`.\n"
    )  # fmt: skip
    followed = lab.headcount("run", definition, "--follow")
    assert (followed.returncode, "Completed 1 of 1 tasks" in followed.stdout) == (0, True)


def test_without_a_run_there_is_nothing_to_follow(lab: RunLab) -> None:
    refused = lab.headcount("run", "--follow")
    assert (refused.returncode, "There is no open team" in refused.stderr) == (2, True)
    refused = lab.headcount("run")
    assert (refused.returncode, "Which definition?" in refused.stderr) == (2, True)


def test_ctrl_c_stops_watching_and_the_run_goes_on(lab: RunLab) -> None:
    definition = lab.define({1: ()}, reviewers=())
    lab.plan({1: {"work": ["wait"]}})
    run = lab.start("run", definition)
    lab.wait_entry("moved", about="ada#1", to="running")
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Traceback" not in err
    assert "The run continues in the background." in err
    (lab.desk / "go").touch()
    watched = lab.json("run", "--follow")
    assert (watched["team"], watched["status"]) == ("crew", "complete")
    assert [e.about for e in lab.journal("starting")] == ["ada#1"]


def test_two_at_once_watch_one_run(lab: RunLab) -> None:
    lab.plan({1: {"work": ["wait"]}})
    definition = lab.define({1: (), 2: (1,)}, reviewers=())
    first = lab.start("run", definition, "--json")
    lab.wait_entry("moved", about="ada#1", to="running")
    second = lab.start("run", definition)
    assert second.stderr is not None
    assert second.stderr.readline().startswith("crew: ")  # it watches
    (lab.desk / "go").touch()
    for run in (first, second):
        run.communicate(timeout=100)
    assert [first.returncode, second.returncode] == [0, 0]
    assert lab.merges() == {"1": 1, "2": 1}


def test_on_a_terminal_the_tasks_are_drawn_in_place(lab: RunLab) -> None:
    definition = lab.define({1: (), 2: (1,)}, reviewers=())
    controller, terminal = pty.openpty()
    words = [sys.executable, "-m", "headcount", "run", definition]
    env = {**lab.env, "TERM": "xterm"}
    run = subprocess.Popen(words, cwd=lab.repo, env=env, stdout=subprocess.PIPE, stderr=terminal, text=True)
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(controller, 65536):
            shown += chunk
    except OSError:
        pass  # the terminal is closed with its last user
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    text = shown.decode()
    assert "\x1b[A" in text
    frames = text.split("crew: ")
    assert "waits for 1" in frames[1]
    assert re.search(r"complete +Part 2", frames[-1])
    assert "[x] All tasks complete: 2 of 2 complete" in out
    wait_until(lambda: lab.marked() == [])
