"""A turn is over when nothing of it lives, and a failure is named. The clients here are shell scripts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from client_lab import POLICY, TEAM, Lab

from headcount.agents.host.wake import WORDS
from headcount.app.mail import inbox, send
from headcount.app.report import read_report
from headcount.app.team_status import status
from headcount.app.witness import nudge
from headcount.cli.status_commands import describe_team
from headcount.errors import Declined
from headcount.protocol.member import State

ONCE = replace(POLICY, restarts=0)
# The number of this turn, from 1.
COUNT = 'turn=$(($(cat "$HOME/turns" 2>/dev/null || echo 0) + 1)); echo $turn > "$HOME/turns"\n'
# What a client prints when the model has answered.
ANSWER = """echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}'\n"""
CODEX_ANSWER = """echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'\n"""
WAIT = 'until [ -s "{0}" ]; do sleep 0.02; done\n'
# An agent that re-executed itself, and a shell command in a session of its own that ignores SIGTERM.
LEFT = """\
sh -c 'echo $$ > "$HOME/agent"; while :; do sleep 0.1; done' &
setsid sh -c 'trap "" TERM; echo $$ > "$HOME/shell"; while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &
""" + WAIT.format("$HOME/agent") + WAIT.format("$HOME/shell")  # fmt: skip


def read_file(path: Path, limit_s: float = 60) -> str:
    deadline = time.monotonic() + limit_s
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, f"no {path}"
        time.sleep(0.05)
    return path.read_text().strip()


def wait_until(condition: Callable[[], bool], limit_s: float = 60) -> bool:
    deadline = time.monotonic() + limit_s
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds


def is_alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_F95_the_next_turn_begins_when_nothing_of_a_killed_one_lives(
    open_fake_lab: Callable[..., Lab],
) -> None:
    ask = 'kill -0 "$(cat "$HOME/$one")" 2>/dev/null && echo $one'
    look = f'for one in agent shell; do {ask}; done > "$HOME/alive"'
    first = f"if [ $turn = 1 ]; then\n{LEFT}kill -KILL $$\nfi\n"
    script = f'{COUNT}{first}{look}; echo seen >> "$HOME/alive"\n{ANSWER}'
    lab = open_fake_lab({"claude": script})
    key = lab.start("ann", "claude", prompt="Work.")
    assert read_file(lab.home / "alive") == "seen"
    lab.wait(key, lambda m: m.activity == "idle")
    (ended,) = lab.journal("turn_rest_ended")
    assert len(ended.data["processes"]) >= 2, ended
    (failed,) = lab.journal("turn_failed")
    assert failed.data["cause"] == "killed by SIGKILL"


def test_F95_a_server_of_a_turn_that_ended_well_outlives_a_later_failed_one(
    open_fake_lab: Callable[..., Lab],
) -> None:
    server = "setsid sh -c 'echo $$ > \"$HOME/server\"; exec sleep 600' </dev/null >/dev/null 2>&1 &\n"
    first = f"if [ $turn = 1 ]; then\n{server}{WAIT.format('$HOME/server')}{ANSWER}exit 0\nfi\n"
    second = f"if [ $turn = 2 ]; then\n{LEFT}kill -KILL $$\nfi\n"
    lab = open_fake_lab({"claude": COUNT + first + second})
    key = lab.start("ann", "claude", prompt="Work.")
    lab.wait(key, lambda m: m.activity == "idle")
    pid = read_file(lab.home / "server")
    send(lab.app, "ann", "More", "Go on.", TEAM)
    lab.wait_note("turn_rest_ended")
    assert is_alive(pid)
    assert not any(is_alive(read_file(lab.home / name)) for name in ("agent", "shell"))
    assert lab.finish(lab.stand_down(force=True))["status"] == "shutdown"
    assert not is_alive(pid) and lab.alive() == []


def test_F96_a_client_that_is_killed_too_often_is_named_with_its_signal_everywhere(
    open_fake_lab: Callable[..., Lab], tmp_path: Path
) -> None:
    told = tmp_path / "told"
    notify = ("sh", "-c", f'echo "$HEADCOUNT_ABOUT $HEADCOUNT_FAILURE" > {told}')
    lab = open_fake_lab(
        {"claude": "echo 'heap out of memory' >&2; kill -KILL $$"}, replace(ONCE, notify=notify)
    )
    key = lab.start("ann", "claude", prompt="Work.")
    cause = "killed by SIGKILL: heap out of memory"
    member = lab.wait(key, lambda m: m.settled)
    assert (member.outcome, member.cause) == ("already_gone", cause)
    (team,) = status(lab.app, TEAM)
    assert any(f"failed: {cause}" in line for line in describe_team(team))
    assert not any("on its own" in line for line in describe_team(team))
    (mail,) = [one for one in inbox(lab.app, TEAM) if one.subject == "ann failed"]
    assert cause in mail.body
    assert read_file(told) == f"{key} {cause}"
    report = read_report(lab.app, TEAM)
    assert report["members"][0]["cause"] == cause
    assert any(cause in line["what"] for line in report["story"])
    answer = lab.finish(lab.stand_down())
    receipt = (Path(answer["archive"]) / "receipt.json").read_text()
    assert cause in receipt


def test_F96_a_command_that_dies_is_named_with_its_signal_and_last_line(
    open_fake_lab: Callable[..., Lab],
) -> None:
    lab = open_fake_lab({})
    key = lab.start("bob", "command", command=("sh", "-c", "echo working; kill -SEGV $$"))
    member = lab.wait(key, lambda m: m.settled)
    assert member.cause == "killed by SIGSEGV: working"
    lines = "Error: Did not start it; Because: it is not installed; Hint: Install it"
    hinted = lab.start("dot", "command", command=("sh", "-c", f"echo '{lines}' | tr ';' '\\n'; exit 3"))
    assert lab.wait(hinted, lambda m: m.settled).cause == "exited with code 3: Because: it is not installed"
    peaceful = lab.start("cid", "command", command=("true",))
    assert lab.wait(peaceful, lambda m: m.settled).cause == ""


def test_F124_a_client_that_removes_its_workspace_is_followed_to_the_end_of_its_turn(
    open_fake_lab: Callable[..., Lab],
) -> None:
    edit = '{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/x"}}'
    line = f'{{"type":"assistant","message":{{"content":[{edit}]}}}}'
    script = f'rm -rf "$PWD"; echo \'{line}\'\n{ANSWER}echo $$ > "$HOME/end"'
    lab = open_fake_lab({"claude": script}, ONCE)
    key = lab.start("ann", "claude", prompt="Work.")
    read_file(lab.home / "end")
    lab.wait(key, lambda m: m.activity == "idle")
    assert lab.journal("turn_failed") == []


def test_F97_a_client_that_is_not_logged_in_is_named_as_such(open_fake_lab: Callable[..., Lab]) -> None:
    result = (
        '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,'
        '"result":"Invalid API key · Please run /login"}'
    )
    lab = open_fake_lab({"claude": f"echo '{result}'; exit 1"}, ONCE)
    key = lab.start("ann", "claude", prompt="Work.")
    member = lab.wait(key, lambda m: m.settled)
    assert member.cause == "not logged in: Invalid API key · Please run /login"


def test_F98_a_client_killed_in_a_terminal_is_started_again_and_then_its_member_fails(
    open_fake_lab: Callable[..., Lab],
) -> None:
    show = "printf '\\342\\235\\257 ready\\n'\n"
    stay = 'echo $$ > "$HOME/client-$turn"; while :; do sleep 0.1; done'
    script = f"{COUNT}{show}[ $turn = 1 ] && {{\n{LEFT}}}\n{stay}"
    lab = open_fake_lab({"claude": script}, replace(POLICY, restarts=1))
    key = lab.start("ann", "claude", prompt="Work.", runtime="tmux")
    os.kill(int(read_file(lab.home / "client-1")), signal.SIGKILL)
    second = read_file(lab.home / "client-2")
    assert not any(is_alive(read_file(lab.home / name)) for name in ("agent", "shell"))
    assert lab.member(key).state is State.RUNNING
    os.kill(int(second), signal.SIGKILL)
    member = lab.wait(key, lambda m: m.settled)
    assert member.cause == "killed by SIGKILL"
    assert [entry.data["cause"] for entry in lab.journal("turn_failed")] == ["killed by SIGKILL"] * 2


# --- usage limits, stand-downs and mail ------------------------------------------------------------------

LIMIT = """\
echo '{"type":"result","is_error":true,"api_error_status":429,"result":"You have hit your limit"}'; exit 1"""
LONG = replace(POLICY, limit_wait_s=600)


def test_F99_a_usage_limit_holds_only_members_of_its_client_and_account(
    open_fake_lab: Callable[..., Lab],
) -> None:
    lab = open_fake_lab({"claude": LIMIT, "codex": f'touch "$HOME/worked"\n{CODEX_ANSWER}'}, LONG)
    ann = lab.start("ann", "claude", prompt="Work.")
    lab.wait(ann, lambda m: m.activity == "limited")
    bob = lab.start("bob", "codex", prompt="Work.")
    lab.wait(bob, lambda m: m.activity == "idle")
    assert (lab.home / "worked").exists()
    lab.start("cid", "command", command=("sleep", "600"))
    with pytest.raises(Declined) as refused:
        lab.start("dan", "claude", prompt="Work.")
    assert refused.value.code == "usage-limit" and ann in refused.value.why


def test_F100_down_with_force_does_not_wait_for_an_answer_of_a_member_at_its_limit(
    open_fake_lab: Callable[..., Lab],
) -> None:
    lab = open_fake_lab({"claude": LIMIT}, replace(LONG, answer_timeout_s=600))
    ann = lab.start("ann", "claude", prompt="Work.")
    lab.wait(ann, lambda m: m.activity == "limited")
    answer = lab.finish(lab.stand_down(force=True))
    assert answer["status"] == "shutdown"
    assert [one["answer"] for one in answer["members"]] == [None]


def test_F101_a_client_that_was_stopped_by_a_signal_is_shown_as_stopped(
    open_fake_lab: Callable[..., Lab],
) -> None:
    lab = open_fake_lab({"claude": 'echo $$ > "$HOME/client"; while :; do sleep 0.1; done'})
    lab.start("ann", "claude", prompt="Work.")
    pid = int(read_file(lab.home / "client"))

    def activity() -> str | None:
        (team,) = status(lab.app, TEAM)
        return team["members"][0]["activity"]

    assert activity() == "working"
    os.kill(pid, signal.SIGSTOP)
    assert wait_until(lambda: activity() == "stopped")
    os.kill(pid, signal.SIGCONT)
    assert wait_until(lambda: activity() == "working")


def test_F102_a_turn_without_any_answer_of_the_model_is_not_done_whatever_the_client_calls_it(
    open_fake_lab: Callable[..., Lab],
) -> None:
    """An empty stream: Gemini CLI exits with code 0 then."""
    say = f'cat > "$HOME/prompt-$turn"\n[ $turn = 1 ] || {ANSWER}'
    lab = open_fake_lab({"claude": f"{COUNT}{say}"})
    key = lab.start("ann", "claude", prompt="Write ann.txt.")
    lab.wait(key, lambda m: m.activity == "idle")
    (failed,) = lab.journal("turn_failed")
    assert failed.data["cause"] == "ended without an answer of the model"
    assert all("Write ann.txt." in (lab.home / f"prompt-{turn}").read_text() for turn in (1, 2))


def test_F103_a_nudge_that_woke_a_member_is_delivered(open_fake_lab: Callable[..., Lab]) -> None:
    """The mail comes with the nudge and wakes the member first, so the nudge meets a turn that has begun."""
    hold = 'until [ -e "$HOME/go" ]; do sleep 0.05; done\n'
    lab = open_fake_lab({"claude": f"{COUNT}{ANSWER}[ $turn = 1 ] && exit 0\n{hold}"})
    key = lab.start("ann", "claude", prompt="Work.")
    lab.wait(key, lambda m: m.activity == "idle")
    assert nudge(lab.app, "ann", "Look at this.", TEAM)["delivered"]
    (lab.home / "go").touch()
    assert not lab.journal("nudge_undelivered")


def test_F104_tool_answers_do_not_count_mail_that_is_in_the_prompt(
    open_fake_lab: Callable[..., Lab],
) -> None:
    ask = """printf '%s\\n%s\\n' "$1" "$2" | HEADCOUNT_SHOWN_MAIL= headcount mcp"""
    about = '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'
    begin = f'{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{about}}}'
    call = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_list","arguments":{}}}'
    script = f"set -- '{begin}' '{call}'\n{ask} > \"$HOME/answers\"\n{CODEX_ANSWER}"
    lab = open_fake_lab({"codex": script})
    key = lab.start("ann", "codex", prompt="Work.")
    lab.wait(key, lambda m: m.activity == "idle")
    answers = (lab.home / "answers").read_text()
    assert '"id":2' in answers.replace(" ", "") and "unread" not in answers, answers


# --- waking ----------------------------------------------------------------------------------------------

IDLE = """\
headcount idle >/dev/null
printf '\\342\\235\\257 ready\\n'
while IFS= read -r line; do echo "$line" >> "$HOME/typed"; done
"""


def test_mail_wakes_a_client_that_is_idle_in_a_terminal_once(open_fake_lab: Callable[..., Lab]) -> None:
    lab = open_fake_lab({"claude": IDLE})
    key = lab.start("ann", "claude", runtime="tmux")
    lab.wait(key, lambda m: m.activity == "idle")
    send(lab.app, "ann", "More", "Go on; rm -rf.", TEAM)
    assert read_file(lab.home / "typed") == WORDS
    send(lab.app, "ann", "And", "On.", TEAM)
    assert wait_until(lambda: (lab.home / "typed").read_text() == f"{WORDS}\n" * 2)


def test_nobody_is_woken_over_a_line_that_a_person_has_begun(open_fake_lab: Callable[..., Lab]) -> None:
    lab = open_fake_lab({"claude": IDLE}, replace(POLICY, wake_on_mail=False))
    key = lab.start("ann", "claude", runtime="tmux")
    lab.wait(key, lambda m: m.activity == "idle")
    lab.person_types(key, "half a line")
    runtime, handle = lab.terminal(key)
    assert wait_until(lambda: "half a line" in runtime.capture(handle))
    assert not runtime.wake(handle, WORDS)
    lab.person_types(key, "Enter")
    assert read_file(lab.home / "typed") == "half a line"
    assert runtime.wake(handle, WORDS)
    assert wait_until(lambda: (lab.home / "typed").read_text() == f"half a line\n{WORDS}\n")
