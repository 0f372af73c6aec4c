"""Hold one command in progress: its caller, its words, and how it answers."""

from __future__ import annotations

import sys

from headcount.domain.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.app.caller import Caller
    from headcount.app.session import Session
    from headcount.cli.member.command_line import Words


class Call:
    def __init__(self, session: Session, words: Words) -> None:
        self.session = session
        self.words = words

    @property
    def caller(self) -> Caller:
        return self.session.caller

    @property
    def team(self) -> str | None:
        """Return the team that the operator named, or the member's own."""
        return self.words.get("--team")

    def answer(self, as_json: object, text: str) -> None:
        """Print and flush the answer. Mail counts as read only after it was printed."""
        if sys.stdout is None:
            raise OSError(9, "standard output is closed")
        sys.stdout.write(dumps(as_json) + "\n" if self.words.has("--json") else text.rstrip("\n") + "\n")
        sys.stdout.flush()
