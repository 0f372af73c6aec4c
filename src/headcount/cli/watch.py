"""`headcount status --watch`: the team as it is at every moment, and keys to act on it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from headcount.app.members import attach_command
from headcount.app.page import Onlooker
from headcount.app.permissions import decide_ask
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import decide, stand_down
from headcount.app.unsaved_work import looking
from headcount.app.witness import capture
from headcount.cli.terminal_output import fit, paint, plain
from headcount.cli.watch_screen import Scene, Screen, draw, waking
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.app.app import App
    from headcount.app.page import View

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -10, "page down": 10}


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
        self._answers: dict[str, Callable[[], str]] = {}  # while a question is open: key -> what it does
        self._keys: dict[str, Callable[[], str | None]] = {
            "d": self._ask_stand_down,
            "e": self._ask_decision,
            "p": self._ask_permission,
            "a": self._attach,
            "c": self._capture,
        }

    def run(self) -> None:
        while True:
            self._view = self._onlooker.look()
            columns, lines = self._screen.size()
            self._screen.draw(draw(self._view, self._scene, columns, lines, _paint))
            key = self._screen.wait(1.0)
            if key == "q" and not self._answers:
                return
            if key is not None:
                self._press(key)

    def _press(self, key: str) -> None:
        if self._answers:
            act = self._answers.get(key, lambda: "Nothing was done.")
            self._answers, self._scene = {}, self._scene._replace(question=())
            self._say(act)
        elif key in _STEPS:
            self._choose(_STEPS[key])
        elif key in self._keys:
            self._say(self._keys[key])

    def _say(self, act: Callable[[], str | None]) -> None:
        try:
            said = act()
        except HeadcountError as error:
            said = f"{error.what}: {error.why}" if error.why else error.what
        self._scene = self._scene._replace(said=said or "")

    def _choose(self, step: int) -> None:
        keys = list(self._view.members)
        if keys:
            at = keys.index(self._scene.chosen) if self._scene.chosen in keys else 0
            self._scene = self._scene._replace(chosen=keys[max(0, min(len(keys) - 1, at + step))], said="")

    def _chosen(self) -> dict[str, Any]:
        return self._view.members.get(self._scene.chosen or "", {"name": "", "key": ""})

    def _ask(self, lines: list[str], answers: dict[str, Callable[[], str]]) -> None:
        self._answers = answers
        self._scene = self._scene._replace(question=lines, said="")

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

    def _deciding(self, escalation: str, decision: str) -> Callable[[], str]:
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

    def _permitting(self, ask: str, decision: str, *, always: bool = False) -> Callable[[], str]:
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
        while self._screen.wait(60.0) is None:
            pass
        return None


def _paint(text: str, colour: str) -> str:
    return paint(text, colour, sys.stdout)
