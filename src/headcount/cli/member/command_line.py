"""Parse a member's command line by hand. Importing `argparse` would take longer than the command."""

from __future__ import annotations

import sys

from headcount.domain.jsontext import dumps
from headcount.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.app.caller import Caller
    from headcount.app.session import Session

HELP = ("-h", "--help")


class Spec:
    """One command: its usage, help text, arguments and options."""

    __slots__ = ("flags", "lines", "members_only", "most", "names", "required", "usage")

    def __init__(
        self,
        usage: str,
        lines: str,
        *,
        required: tuple[str, ...] = (),
        most: int | None = None,
        flags: tuple[str, ...] = (),
        names: dict[str, str] | None = None,
        members_only: bool = False,
    ) -> None:
        self.usage = usage
        self.lines = lines
        self.members_only = members_only  # not for the operator
        self.required = required  # arguments that must be given
        self.most = len(required) if most is None else most
        self.flags = ("--json", *flags)
        self.names = {"--team": "--team", **(names or {})}  # options with a value, by each of their names

    def help(self) -> str:
        head = f"usage: headcount {self.usage} [--json]\n\n{self.lines}\n"
        return head if self.members_only else f"{head}As the operator with several teams: --team TEAM.\n"


class Words:
    """A parsed command line."""

    __slots__ = ("_options", "plain")

    def __init__(self, plain: list[str], options: dict[str, str]) -> None:
        self.plain = plain
        self._options = options

    def has(self, flag: str) -> bool:
        return flag in self._options

    def get(self, name: str) -> str | None:
        return self._options.get(name)

    def word(self, position: int) -> str | None:
        return self.plain[position] if position < len(self.plain) else None


def asks_for_help(spec: Spec, words: list[str]) -> bool:
    """Return whether `--help` is an option of its own, not the value of another one."""
    rest = iter(words)
    for word in rest:
        if word in HELP:
            return True
        if word == "--":
            return False
        if word in spec.names:
            next(rest, None)
    return False


def parse(spec: Spec, words: list[str]) -> Words:
    plain: list[str] = []
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--":
            plain.extend(rest)
        elif word in spec.flags:
            options[word] = ""
        elif equals and name in spec.names and name.startswith("--"):
            options[spec.names[name]] = value
        elif word in spec.names:
            options[spec.names[word]] = _value_of(spec, word, next(rest, None))
        elif word.startswith("-") and word != "-":
            raise _usage(spec, f"Unknown option {word}")
        else:
            plain.append(word)
    if len(plain) < len(spec.required):
        raise _usage(spec, f"{spec.required[len(plain)]} is missing")
    if len(plain) > spec.most:
        raise _usage(spec, f"Unexpected {plain[spec.most]!r}", *_as_message(spec, plain))
    return Words(plain, options)


def _value_of(spec: Spec, name: str, value: str | None) -> str:
    if value is None:
        raise _usage(spec, f"{name} needs a value")
    return value


def _as_message(spec: Spec, plain: list[str]) -> list[str]:
    """Return the call that someone meant who wrote the text after the recipient."""
    if not spec.usage.startswith("send "):
        return []
    return [f'Write it as `headcount send {plain[0]} -s SUBJECT -m "{" ".join(plain[1:])}"`']


def _usage(spec: Spec, what: str, *hints: str) -> UsageError:
    return UsageError(what, f"usage: headcount {spec.usage} [--json]", hints, code="usage")


class Call:
    """One command in progress: its caller, its words, and how it answers."""

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
