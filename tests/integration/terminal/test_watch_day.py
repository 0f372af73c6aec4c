"""A day at the watch in a real terminal: answer a question, allow an ask, read a diff, merge, end quickly."""

from __future__ import annotations

from pathlib import Path

from termlab import TEAM, UNTIDY, TermLab

from headcount.app.mail import send
from headcount.protocol.team import Status
from tests.support.lab import add_ask

WORKS = """
printf 'def area(r):\\n    return 3.14 * r**2\\n' > circle.py
git add circle.py && git commit --quiet -m 'Compute areas'
printf 'half \\033[2Jdone\\n2 failed, 3 passed\\n'
headcount send operator -s 'Which unit?' -m 'Metres or feet?'
headcount inbox --wait 100 --unread > "$HEADCOUNT_HOME/reply"
sleep 1000 & wait
"""


def test_a_day_at_the_watch(lab: TermLab) -> None:
    lab.create()
    lab.start("ada", WORKS)
    lab.start("ben", UNTIDY)
    lab.open("status", "--watch", columns=150, lines=30)

    lab.see("> ada", "ada#1: question: Which unit?", "AGE", "COST")
    lab.press("r")
    lab.see("Metres or feet?", "Reply to ada#1: _")
    lab.press("-l", "Metres, plaese")
    lab.press("BSpace", "BSpace", "BSpace", "BSpace")
    lab.press("-l", "ease")
    lab.see("Reply to ada#1: Metres, please_")
    lab.press("Enter")
    lab.see("Replied to ada#1.")
    lab.wait(lambda _: "Metres, please" in Path(lab.app.home, "reply").read_text())

    ask = add_ask(lab.app, TEAM, "ada#1")
    lab.see(f"? {ask} ada#1: Run: make test")
    lab.press("p")
    lab.see("y allow  n deny")
    lab.press("y")
    lab.see(f"Answered {ask}: allowed for ada#1.")

    lab.press("Enter")
    lab.see("[1 activity]", "branch     headcount/crew/ada", "happened last")
    lab.press("2")
    lab.see("[2 transcript]", "2 failed, 3 passed")
    lab.press("3")
    lab.see("1 commit, 1 file changed, +2 -0; tests: 2 failed, 3 passed", "+def area(r):")
    lab.press("M")
    lab.see("Merge the commits of ada?")
    lab.press("y")
    lab.see("Merged 1 commit of ada#1 into main.")
    assert Path(lab.app.root, "circle.py").exists()
    lab.press("Escape")

    lab.see("> ada", "q quit")
    lab.press("d")
    lab.see("n the same, without waiting for answers")
    lab.press("n")
    lab.see("crew: shutdown", "0 of 2 members alive")
    lab.wait(lambda team: team.status is Status.SHUTDOWN)


def test_the_list_is_filtered_sorted_and_written_to(lab: TermLab) -> None:
    lab.create()
    for name in ("zoe", "ada", "ben"):
        lab.start(name)
    lab.open("status", "--watch", columns=150)
    lab.see("> zoe")
    lab.press("s")
    lab.see_that(lambda s: s.index("ada") < s.index("ben") < s.index("zoe"), "the members by name")
    lab.press("/")
    lab.press("-l", "be")
    lab.press("Enter")
    lab.see_that(lambda s: "> ben" in s and "zoe" not in s, "only ben")
    lab.press("m")
    lab.press("-l", "Hello?")
    lab.press("Enter")
    lab.see("Sent to ben.")
    lab.press("P")
    lab.see("Paused ben.", "paused")
    lab.press("P")
    lab.see("Continued ben.")
    lab.press("Escape")
    lab.see("zoe", "ada")
    send(lab.app, "ada", "x", "y", team=TEAM)
    lab.press("?")
    lab.see("Keys (any key goes back)", "merge its commits")
    lab.press("q")
    lab.see("3 of 3 members alive")
