"""`headcount status --watch` in a real terminal: it changes by itself, keys act, any size, no colour."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from termlab import POLITE, TEAM, UNTIDY, TermLab

from headcount.protocol.member import State
from headcount.protocol.team import Status
from tests.support.lab import add_ask


def watch(lab: TermLab, **more: object) -> None:
    lab.open("status", "--watch", **more)  # type: ignore[arg-type]


def test_the_table_follows_the_team(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    watch(lab)
    lab.see("crew: active", "1 of 1 members alive", "ada", "working", "q quit")
    lab.start("ben", UNTIDY)
    lab.see("2 of 2 members alive", "ben")
    lab.see_that(lambda s: any("ben" in row and " 1 " in row for row in s.splitlines()), "ben's file")


def test_q_gives_the_terminal_back_and_leaves_the_team_alone(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    watch(lab)
    lab.see("1 of 1 members alive")
    lab.press("q")
    shown = lab.see("ended with 0")
    assert "members alive" not in shown
    lab.wait(lambda team: team.members["ada#1"].state is State.RUNNING)


def test_d_asks_first_and_then_stands_the_team_down_until_proof(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    lab.start("ben")
    watch(lab)
    lab.see("2 of 2 members alive")
    lab.press("d")
    lab.see("t the team crew, 2 members", "m only ada")
    lab.press("x")
    lab.see("Nothing was done.")
    lab.wait(lambda team: team.status is Status.ACTIVE)
    lab.press("d")
    lab.see("t the team crew")
    lab.press("t")
    lab.see("crew: shutdown", "0 of 2 members alive", "proved gone")
    lab.wait(lambda team: team.status is Status.SHUTDOWN)


def test_a_single_member_is_chosen_with_the_arrows_and_stood_down_alone(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    lab.start("ben")
    watch(lab)
    lab.see("> ada")
    lab.press("Down")
    lab.see("> ben")
    lab.press("d")
    lab.see("m only ben")
    lab.press("m")
    lab.see("1 of 2 members alive")
    lab.wait(lambda team: team.status is Status.ACTIVE and [m.name for m in team.live()] == ["ada"])


def test_an_escalation_is_decided_with_two_keys(lab: TermLab) -> None:
    lab.create()
    lab.start("ada", UNTIDY)
    watch(lab)
    lab.see("> ada")
    lab.press("d")
    lab.see("Stand down?")
    lab.press("t")
    lab.see("! e1 ada#1: 1 untracked: notes.md", "crew: escalated")
    lab.press("e")
    lab.see("1 force-kill  3 human  4 wait")
    lab.press("2")
    lab.see("crew is being stood down, nothing is reassigned")
    lab.press("e")
    lab.see("1 force-kill")
    lab.press("1")
    lab.see("crew: shutdown", "saved to refs/headcount/salvage/crew/ada/1")


def test_a_permission_request_is_answered_with_two_keys(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    watch(lab)
    lab.see("> ada")
    lab.press("p")
    lab.see("No permission is requested.")
    ask = add_ask(lab.app, TEAM, "ada#1")
    lab.see(f"? {ask} ada#1: Run: make test", "waiting")
    lab.press("p")
    lab.see("y allow  n deny  A allow always")
    lab.press("y")
    lab.see(f"Answered {ask}: allowed for ada#1.", "working")


def test_c_shows_a_members_screen_and_any_key_goes_back(lab: TermLab) -> None:
    lab.create()
    lab.start("ada", f"printf 'hello \\033[31mfrom\\033[2J there\\n'; {POLITE}")
    watch(lab)
    lab.see("> ada")
    lab.press("c")
    lab.see("ada shows (any key goes back)", "there")
    lab.press("Space")
    lab.see("1 of 1 members alive")


def test_a_attaches_to_a_members_terminal_and_detaching_comes_back(lab: TermLab) -> None:
    lab.create()
    lab.start("ada", f"echo at your service; {POLITE}", runtime="tmux")
    watch(lab)
    lab.see("> ada")
    lab.press("a")
    lab.see("at your service")
    lab.press("-l", "yes\x02d")  # all at once, as over a slow connection
    lab.see("1 of 1 members alive", "q quit")


def test_inside_a_tmux_of_the_user_a_key_leaves_the_member_and_not_that_tmux(lab: TermLab) -> None:
    lab.create()
    lab.start("ada", f"echo at your service; {POLITE}", runtime="tmux")
    lab.open("attach", "ada")  # the lab's terminal is a tmux
    lab.see("at your service")
    lab.press("F12")
    lab.see("ended with 0")


def test_keys_that_arrive_together_all_count(lab: TermLab) -> None:
    lab.create()
    for name in ("ada", "ben", "cy"):
        lab.start(name)
    watch(lab)
    lab.see("> ada")
    lab.press("Down", "Down")
    lab.see("> cy")


def test_attaching_to_one_without_a_terminal_says_so(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    watch(lab)
    lab.see("> ada")
    lab.press("a")
    lab.see("it runs without a terminal")


def test_a_new_size_is_taken_up_and_narrow_drops_columns_not_members(lab: TermLab) -> None:
    lab.create()
    for number in range(12):
        lab.start(f"member-{number:02}")
    watch(lab, columns=120, lines=24)
    lab.see("UNSAVED", "UNREAD", "TASK", "member-11")
    lab.tmux("resize-window", "-t", "w", "-x", "44", "-y", "9")
    shown = lab.see_that(lambda s: "member-00" in s and "UNREAD" not in s, "the narrow table")
    assert max(len(line) for line in shown.splitlines()) <= 44
    assert "member-11" not in shown
    lab.press("NPage")
    lab.see("> member-10")
    lab.tmux("resize-window", "-t", "w", "-x", "120", "-y", "24")
    lab.see("UNREAD", "member-00", "member-11")


def test_without_colour_there_is_none(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    watch(lab, NO_COLOR="1")
    lab.see("> ada")
    assert "\x1b[" not in lab.screen(colours=True)


def test_with_colour_there_is_some(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    watch(lab)
    lab.see("> ada")
    assert "\x1b[32m" in lab.screen(colours=True)


def test_a_team_that_is_none_is_said_before_the_screen_is_taken(lab: TermLab) -> None:
    lab.open("status", "nobody", "--watch")
    lab.see('No team is called "nobody"', "ended with 2")


def test_off_a_terminal_each_change_is_a_line_of_json_until_the_team_is_closed(lab: TermLab) -> None:
    lab.create()
    lab.start("ada")
    command = [sys.executable, "-m", "headcount", "status", TEAM, "--watch", "--json"]
    with subprocess.Popen(command, cwd=lab.app.root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert (first["status"], first["members"][0]["state"]) == ("active", "running")
        down = [sys.executable, "-m", "headcount", "down", TEAM, "--force", "--json"]
        subprocess.run(
            down, cwd=lab.app.root, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ), timeout=60
        )
        *_, last = (json.loads(line) for line in process.stdout)
    assert (last["status"], process.returncode) == ("shutdown", 0)
