"""The members' commands: parse, call one use case of `headcount.app`, print.

They are called often, so this path imports next to nothing, and each command only what it needs.
"""

from __future__ import annotations

import os
import sys

from headcount.app.session import find_state, open_session
from headcount.cli import HOT
from headcount.cli.member.command_line import HELP, Call, asks_for_help, parse
from headcount.cli.member.command_table import COMMANDS
from headcount.cli.streams import complain, is_output
from headcount.domain.jsontext import dumps
from headcount.errors import HeadcountError, UsageError
from headcount.store import is_made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.cli.member.command_line import Words

_HOOK_FAILED = 1  # to a client 2 means: do not go on


def main(words: list[str]) -> int:
    name = " ".join(words[:2]) if HOT[words[0]] else words[0]
    if name not in COMMANDS:
        return _tell_verbs(words)
    if name == "hook" and ("--lead" in words) == ("HEADCOUNT_TOKEN" in os.environ):
        return 0  # a member's hook outside of a member, or the lead's inside of one: not meant
    spec, function = COMMANDS[name]
    rest = words[len(name.split()) :]
    if asks_for_help(spec, rest):
        _write(spec.help())
        return 0
    try:
        return _run(name, function, parse(spec, rest))
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if is_output(error):
            raise
        code = _report(_as_ours(error), "--json" in rest)
        return _HOOK_FAILED if name == "hook" else code


def _as_ours(error: Exception) -> HeadcountError:
    if isinstance(error, HeadcountError):
        return error
    from headcount.cli.streams import explain

    return explain(error)


def _run(name: str, function: str, words: Words) -> int:
    home = find_state(os.environ)
    if name == "hook" and not is_made(home):
        return 0
    session = open_session(home, os.environ, name)
    try:
        return _find(function)(Call(session, words))
    finally:
        session.close()


def _find(function: str) -> Callable[[Call], int]:
    module, _, name = function.partition(":")
    found: Callable[[Call], int] = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
    return found


def _tell_verbs(words: list[str]) -> int:
    """Report the verbs of a command, for `--help` or after a missing verb."""
    command, verbs = words[0], HOT[words[0]]
    if any(word in HELP for word in words):
        _write("\n".join(COMMANDS[f"{command} {verb}"][0].help() for verb in verbs))
        return 0
    error = UsageError(f"{command} what?", f"after {command} comes {' or '.join(verbs)}", code="usage")
    return _report(error, "--json" in words)


def _report(error: HeadcountError, as_json: bool) -> int:
    if as_json:
        _write(dumps({"error": error.as_dict()}) + "\n")
    else:
        from headcount.domain.mail_text import plain

        complain(plain(error.render()))
    return error.exit_code


def _write(text: str) -> None:
    if sys.stdout is not None:
        sys.stdout.write(text)
