"""`headcount status --watch`: the team as it is at every moment, and keys to act on it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from headcount.app.desk import reply
from headcount.app.mail import send
from headcount.app.members import attach_command, pause
from headcount.app.page import Onlooker
from headcount.app.permissions import decide_ask
from headcount.app.resident import ensure_driven
from headcount.app.review import merge
from headcount.app.standing_down import decide, stand_down
from headcount.app.unsaved_work import looking
from headcount.app.witness import capture
from headcount.cli.terminal_output import fit, paint, plain
from headcount.cli.watch_detail import Detail
from headcount.cli.watch_screen import (
    GONE,
    SORTS,
    Scene,
    Screen,
    arrange,
    draw,
    draw_foot,
    draw_help,
    waking,
)
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.app.app import App
    from headcount.app.desk import Need
    from headcount.app.page import View

    Act = Callable[[], str | None]

_STEPS = {
    "up": -1, "k": -1, "down": 1, "j": 1, "page up": -10, "page down": 10, "home": -10**9, "end": 10**9,
}  # fmt: skip


def watch(app: App, team: str) -> int:
    """Show a team live until `q`. The team continues afterwards."""
    onlooker, screen = Onlooker(app, team), Screen()
    onlooker.look()  # a name that is none is said before the screen is taken
    bell = waking(screen, lambda limit_s: app.store.wait(f"team/{team}", limit_s))
    with screen.open(), bell, looking(app, team, onlooker.seen):
        try:
            Watch(app, team, screen, onlooker).run()
        except KeyboardInterrupt:
            pass
    return 0


class Watch:
    def __init__(self, app: App, team: str, screen: Screen, onlooker: Onlooker) -> None:
        self._app = app
        self._team = team
        self._screen = screen
        self._onlooker = onlooker
        self._view: View = onlooker.look()
        self._scene = Scene(next(iter(self._view.members), None))
        self._answers: dict[str, Act] = {}  # while a question is open: key -> what it does
        self._typed: Callable[[str], str | None] | None = None  # while a line is typed: what is done with it
        self._prompt = self._text = ""
        self._detail: Detail | None = None
        self._is_help = False
        self._over = False
        self._keys: dict[str, Act] = {
            "enter": self._open,
            "/": self._ask_filter,
            "s": self._sort,
            "m": self._ask_message,
            "r": self._ask_reply,
            "d": self._ask_stand_down,
            "e": self._ask_decision,
            "E": self._ask_decisions,
            "p": self._ask_permission,
            "P": self._pause,
            "M": self._ask_merge,
            "a": self._attach,
            "c": self._capture,
            "?": self._help,
            "escape": self._back,
            "q": self._quit,
        }

    def run(self) -> None:
        """Draw, wait for keys or a change, and act on every key, until the user or the terminal leaves."""
        while not self._over:
            self._view = self._onlooker.look()
            self._screen.draw(self._draw(*self._screen.size()))
            for key in self._screen.wait(1.0):
                if key == GONE:
                    return
                self._press(key)
        if self._detail is not None:
            self._detail.close()

    def _draw(self, columns: int, lines: int) -> list[str]:
        if self._is_help:
            return draw_help(columns, lines, _paint)
        if self._detail is None:
            return draw(self._view, self._scene, columns, lines, _paint)
        foot = draw_foot(self._scene, max(20, columns - 1), _paint)
        return [*self._detail.draw(self._view, columns, lines - len(foot), _paint), *foot]

    def _press(self, key: str) -> None:
        if self._is_help:
            self._is_help = False
        elif self._typed is not None:
            self._type(key)
        elif self._answers:
            act = self._answers.get(key, lambda: "Nothing was done.")
            self._answers, self._scene = {}, self._scene._replace(question=())
            self._say(act)
        elif self._detail is not None and self._detail.press(key, self._screen.size()[1] - 4):
            self._scene = self._scene._replace(said="")
        elif key in _STEPS:
            self._choose(_STEPS[key])
        elif key in self._keys:
            self._say(self._keys[key])

    # --- a line that is typed

    def _ask_line(self, prompt: str, then: Callable[[str], str | None], text: str = "") -> None:
        self._typed, self._prompt, self._text = then, prompt, text
        self._scene = self._scene._replace(typing=f"{prompt}: {text}", said="")

    def _type(self, key: str) -> None:
        assert self._typed is not None
        if key in ("enter", "escape"):
            then, text = self._typed, self._text
            self._typed, self._scene = None, self._scene._replace(typing=None, question=())
            self._say(lambda: then(text) if key == "enter" else self._back())
            return
        if key == "backspace":
            self._text = self._text[:-1]
        elif key == "clear":
            self._text = ""
        elif len(key) == 1 and key.isprintable():
            self._text += key
        self._scene = self._scene._replace(typing=f"{self._prompt}: {self._text}")

    # --- around the table

    def _open(self) -> None:
        if self._scene.chosen in self._view.members:
            self._detail = Detail(self._app, self._team, str(self._scene.chosen), self._screen.wake)

    def _back(self) -> None:
        if self._detail is not None:
            self._detail.close()
            self._detail = None
        else:
            self._scene = self._scene._replace(wanted="")

    def _quit(self) -> None:
        if self._detail is not None:
            self._back()
        else:
            self._over = True

    def _help(self) -> None:
        self._is_help = True

    def _ask_filter(self) -> None:
        self._ask_line("Filter", self._filter, self._scene.wanted)

    def _filter(self, text: str) -> None:
        self._scene = self._scene._replace(wanted=text)
        self._choose(0)

    def _sort(self) -> None:
        following = SORTS[(SORTS.index(self._scene.sort) + 1) % len(SORTS)]
        self._scene = self._scene._replace(sort=following)

    def _say(self, act: Act) -> None:
        try:
            said = act()
        except HeadcountError as error:
            said = f"{error.what}: {error.why}" if error.why else error.what
        self._scene = self._scene._replace(said=said or "")

    def _choose(self, step: int) -> None:
        keys = [row["key"] for row in arrange(self._view, self._scene)]
        if keys:
            at = keys.index(self._scene.chosen) if self._scene.chosen in keys else 0
            self._scene = self._scene._replace(chosen=keys[max(0, min(len(keys) - 1, at + step))], said="")

    def _chosen(self) -> dict[str, Any]:
        return self._view.members.get(self._scene.chosen or "", {"name": "", "key": ""})

    def _find_need(self, kind: str) -> Need | None:
        """Return the need of the chosen member, else the newest of that kind."""
        needs = [need for need in self._view.needs if need["kind"] == kind]
        return next((need for need in needs if need["member"] == self._scene.chosen), next(iter(needs), None))

    def _ask(self, lines: list[str], answers: dict[str, Act]) -> None:
        self._answers = answers
        self._scene = self._scene._replace(question=lines, said="")

    # --- write, pause, merge

    def _ask_message(self) -> None:
        name = self._chosen()["name"]
        self._ask_line(f"Message to {name}", lambda text: self._send(name, text))

    def _send(self, name: str, text: str) -> str:
        if not text.strip():
            return "Nothing was sent."
        sent = send(self._app, name, "", text, self._team)
        return f"Sent to {name}." if sent.delivered else f"Not delivered: {sent.note}."

    def _ask_reply(self) -> str | None:
        need = self._find_need("question")
        if need is None:
            return "No question waits for you."
        mail, number = self._view.mail.get(need["id"] or "", {}), need["id"] or ""
        body = str(mail.get("body", "")).splitlines()[:4]
        self._scene = self._scene._replace(question=[f"{need['member']}: {need['text']}", *body])
        self._ask_line(f"Reply to {need['member']}", lambda text: self._reply(number, text))
        return None

    def _reply(self, mail: str, text: str) -> str:
        if not text.strip():
            return "Nothing was sent."
        sent = reply(self._app, mail, text, self._team)
        return f"Replied to {sent['to']}." if sent["delivered"] else f"Not delivered: {sent['note']}."

    def _pause(self) -> str:
        row = self._chosen()
        paused = pause(self._app, row["name"], self._team, resume=row.get("activity") == "paused")
        return f"{'Paused' if paused['paused'] else 'Continued'} {paused['member']}."

    def _ask_merge(self) -> None:
        name = self._chosen()["name"]
        self._ask(
            [f"Merge the commits of {name}? y with a merge commit  s as one commit  any other key: nothing"],
            {"y": lambda: self._merge(name), "s": lambda: self._merge(name, squash=True)},
        )

    def _merge(self, name: str, *, squash: bool = False) -> str:
        merged = merge(self._app, name, self._team, squash=squash)
        left = f" Not merged: {merged['unsaved']} in no commit." if merged["unsaved"] else ""
        undo = f"`git reset --keep {merged['before'][:10]}`"
        what = f"{merged['commits']} commit{'s' * (merged['commits'] != 1)} of {merged['member']}"
        return f"Merged {what} into {merged['branch']}.{left} Undo: {undo}."

    # --- stand down

    def _ask_stand_down(self) -> None:
        name = self._chosen()["name"]
        live = sum(1 for row in self._view.members.values() if row["state"] != "gone")
        everyone = f"{live} member{'s' * (live != 1)}"
        lines = [
            f"Stand down? t the team {self._team}, {everyone}",
            f"            m only {name}  f the team, by force  n the same, without waiting for answers",
            "Whatever is unsaved is kept first. Any other key: nothing.",
        ]
        self._ask(
            lines,
            {
                "t": lambda: self._stand_down(None),
                "m": lambda: self._stand_down([name]),
                "f": lambda: self._stand_down(None, force=True),
                "n": lambda: self._stand_down(None, now=True),
            },
        )

    def _stand_down(self, names: list[str] | None, *, force: bool = False, now: bool = False) -> str:
        answer = stand_down(self._app, self._team, names, force=force, now=now)
        ensure_driven(self._app)
        asked = len(answer["members"]) - len(answer.get("alreadyGone", ()))
        return f"Asked {asked} to stand down."

    # --- decide

    def _ask_decision(self) -> str | None:
        waiting = [e for e in self._view.escalations if e["state"] in ("open", "parked")]
        if not waiting:
            return "Nothing waits for a decision."
        one = next((e for e in waiting if e["key"] == self._scene.chosen), waiting[0])
        numbers = {str(number): decision for number, decision in enumerate(one["decisions"], 1)}
        can = [f"{number} {name}" for number, name in numbers.items() if one["decisions"][name] is None]
        self._ask(
            [
                f"{one['id']} {one['key']}: {'; '.join(one['issues'])}",
                "  ".join([*can, "any other key: nothing"]),
            ],
            # Also those that are not offered: whoever knows their number hears why not.
            {number: self._deciding(one["id"], decision) for number, decision in numbers.items()},
        )
        return None

    def _ask_decisions(self) -> str | None:
        """Decide at once everything that waits because of the same cause as the first."""
        waiting = [e for e in self._view.escalations if e["state"] in ("open", "parked")]
        if not waiting:
            return "Nothing waits for a decision."
        cause = waiting[0]["cause"]
        alike = [e for e in waiting if e["cause"] == cause]
        can = {d for e in alike for d, why_not in e["decisions"].items() if why_not is None}
        numbers = {str(n): d for n, d in enumerate(waiting[0]["decisions"], 1) if d in can}
        self._ask(
            [
                f"{len(alike)} because of {cause}: {', '.join(e['key'] for e in alike)}",
                "  ".join([*(f"{n} {d} for all" for n, d in numbers.items()), "any other key: nothing"]),
            ],
            {number: self._deciding_all(alike, decision) for number, decision in numbers.items()},
        )
        return None

    def _deciding_all(self, alike: list[dict[str, Any]], decision: str) -> Act:
        def act() -> str:
            can = [e["id"] for e in alike if e["decisions"][decision] is None]
            for escalation in can:
                decide(self._app, escalation, decision, team=self._team)
            ensure_driven(self._app)
            return f"Decided {len(can)} of {len(alike)}: {decision}."

        return act

    def _deciding(self, escalation: str, decision: str) -> Act:
        def act() -> str:
            decided = decide(self._app, escalation, decision, team=self._team)
            ensure_driven(self._app)
            return f"Decided {escalation}: {decision} for {decided['member']}."

        return act

    # --- permission requests

    def _ask_permission(self) -> str | None:
        if not self._view.asks:
            return "No permission is requested."
        one = next((a for a in self._view.asks if a["member"] == self._scene.chosen), self._view.asks[0])
        ask = one["id"]
        if ask is None:
            return f"{one['member']} asks in its terminal: choose it, and press a to attach."
        always = "  A allow always" if one["command"] else ""
        shown = (one["command"] or one["detail"]).splitlines()
        self._ask(
            [
                f"{ask} {one['member']}: {one['title']}",
                *(f"    {line}" for line in shown[:4]),
                *([f"    … {len(shown) - 4} more lines: `headcount asks`"] if len(shown) > 4 else []),
                f"y allow  n deny{always}  any other key: nothing",
            ],
            {
                "y": self._permitting(ask, "allow"),
                "n": self._permitting(ask, "deny"),
                "A": self._permitting(ask, "allow", always=True),
            },
        )
        return None

    def _permitting(self, ask: str, decision: str, *, always: bool = False) -> Act:
        def act() -> str:
            answered = decide_ask(self._app, ask, decision, always=always, team=self._team)
            return f"Answered {ask}: {answered['state']} for {answered['member']}."

        return act

    # --- look closer

    def _attach(self) -> str | None:
        command = attach_command(self._app, self._chosen()["name"], self._team)
        with self._screen.aside():
            subprocess.run(command, check=False)
        return None

    def _capture(self) -> str | None:
        """Show a member's screen until a key is pressed."""
        name = self._chosen()["name"]
        shown = capture(self._app, name, self._team)["screen"] or "(nothing on its screen)"
        columns, lines = self._screen.size()
        text = [fit(plain(line), columns - 1).rstrip() for line in shown.splitlines()][-(lines - 2) :]
        self._screen.draw([_paint(f"{name} shows (any key goes back)", "bold"), *text])
        while not self._screen.wait(60.0):
            pass
        return None


def _paint(text: str, colour: str) -> str:
    return paint(text, colour, sys.stdout)
