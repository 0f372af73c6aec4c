"""`headcount hook EVENT`: handle an event of Claude Code. The client reads the answer.

    UserPromptSubmit, PostToolUse    new mail is put before the model
    Stop                             not before new mail and an open request have been dealt with; else idle
    PreCompact                       recorded; with `cycle_on_compact` it is cycled
    SessionEnd                       recorded
    Limited, Resumed                 its usage limit is reached, and over
    BeforeTool                       Gemini CLI wants to run a command: asked, if it is not allowed anyway

A failing hook would block the work of the client, so it never reports an error. Mail is still in the mailbox.
"""

from __future__ import annotations

import os
import sys
import time

from headcount.app import mail, signals
from headcount.app.hosting import MemberReports
from headcount.domain.jsontext import dumps, quote_ascii
from headcount.domain.mail_text import message_text
from headcount.domain.names import LEAD, OPERATOR, SHOWN_MAIL, TOOLS_LISTED
from headcount.errors import HeadcountError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from headcount.cli.member.command_line import Call

_TOOLS_LOOK_S = 0.05
_TAKEN_IN_S, _SLOWNESS = 0.75, 3.0
_NOT_ANSWERED = (
    "You are asked to stand down (request {request}), and have not answered. Plain text is no answer: use "
    "send_message to lead with type shutdown_response, this request_id and approve, or run "
    "`headcount approve {request}`."
)


def hook(call: Call) -> int:
    event = call.words.plain[0]
    if call.words.has("--lead"):
        return _tell_lead(call, event)
    act = _EVENTS.get(event)
    if act is not None:
        act(call, event, _read_input(event))
    return 0


def _tell_lead(call: Call, event: str) -> int:
    """Counts only: the lead reads its mail when it wants to."""
    waiting = []
    with call.session.store.read() as tx:
        for name in tx.team_names():
            counts = tx.count_unread(call.session.find_team(tx, name).id)
            unread = counts.get(LEAD, 0) + counts.get(OPERATOR, 0)
            if unread:
                waiting.append(f"{unread} for {name}")
    if waiting:
        text = f"headcount: unread mail for the lead ({', '.join(waiting)}). Read it with the inbox tool."
        _say(call, _beside(event, text))
    return 0


def _read_input(event: str) -> dict[str, Any]:
    """Return the input of the hook; empty after a tool, where it is not used and parsing costs 4 ms."""
    text = sys.stdin.buffer.read()
    if event in _WITHOUT_INPUT:
        return {}
    import json

    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _show_mail(call: Call, event: str, _: dict[str, Any]) -> None:
    if event == "UserPromptSubmit":
        if SHOWN_MAIL not in os.environ:  # otherwise the host has begun this turn
            MemberReports(call.session).begin_work()
            _wait_for_tools(os.environ.get("HEADCOUNT_CLIENT_DIRECTORY", ""))
    else:
        MemberReports(call.session).lift_limit()
    _hand_over(call, lambda text: _beside(event, text))


def _wait_for_tools(directory: str) -> None:
    """Wait until the tools are listed, in the first turn of a terminal and with a limit.

    Claude Code waits for this hook before its first request, which has only tools that are listed then.
    """
    from headcount.agents.client import HOOK_WAIT_S

    deadline = time.monotonic() + HOOK_WAIT_S
    while directory and not _are_listed(directory) and time.monotonic() < deadline:
        time.sleep(_TOOLS_LOOK_S)
    if time.monotonic() > deadline:
        try:
            with open(f"{directory}/{TOOLS_LISTED}", "w") as file:
                file.write("0")  # not again with the next prompt
        except OSError:
            pass


def _are_listed(directory: str) -> bool:
    """Return whether the tools were listed long enough ago for this client to have read them."""
    try:
        with open(f"{directory}/{TOOLS_LISTED}") as file:
            took_s = float(file.read())
            return time.time() - os.fstat(file.fileno()).st_mtime > _TAKEN_IN_S + _SLOWNESS * took_s
    except (OSError, ValueError):
        return False


def _hand_over(call: Call, answer: Callable[[str], dict[str, Any]]) -> bool:
    """Show what is unread and was not in the prompt of this turn; mark it read once it was printed."""
    shown = os.environ.get(SHOWN_MAIL, "").split(",")
    unread = [one for one in mail.inbox(call.session, unread=True) if one.id not in shown]
    if not unread:
        return False
    text = "\n".join(message_text(one) for one in unread)
    _say(call, answer(f"New mail:\n{text}"))
    mail.mark_read(call.session, unread)
    return True


def _may_stop(call: Call, event: str, given: dict[str, Any]) -> None:
    if SHOWN_MAIL not in os.environ:
        _count(call, given)
    if _hand_over(call, _go_on):
        return None
    request = signals.open_request(call.session)
    if request is not None and not given.get("stop_hook_active"):
        return _say(call, _go_on(_NOT_ANSWERED.format(request=request)))
    MemberReports(call.session).lift_limit()
    if SHOWN_MAIL not in os.environ:  # in a terminal: nobody else sees that its turn is over
        MemberReports(call.session).end_work()
    return None


def _count(call: Call, given: dict[str, Any]) -> None:
    """Count a turn of opencode or Gemini CLI, whose records do not say when a turn is over."""
    if "prompt_response" in given or given.get("turn") is True:
        from headcount.agents.client import Seen

        MemberReports(call.session).record_turn(Seen(), 0)


def _record(call: Call, event: str, given: dict[str, Any]) -> None:
    reported = {name: given[name] for name in ("reason", "trigger") if isinstance(given.get(name), str)}
    with call.session.write("read_mail", None) as (tx, team):
        tx.add_entry(team.id, _KINDS[event], call.caller.who, reported)


def _compact(call: Call, event: str, given: dict[str, Any]) -> None:
    _record(call, event, given)
    with call.session.store.read() as tx:
        settings = tx.team_settings(call.caller.team or "")
    if settings.get("policy", {}).get("cycle_on_compact"):
        _cycle()


def _cycle() -> None:
    """Cycle the member before its client compacts its context. If that is refused, it continues.

    The import is here because this is rare, and the members' commands are frequent.
    """
    from headcount.app.app import open_app
    from headcount.app.cycle import cycle, own_name

    app = open_app(make=False)
    try:
        cycle(app, own_name(app), "Its context was about to be compacted.")
    except HeadcountError:
        pass
    finally:
        app.close()


def _limit(call: Call, event: str, given: dict[str, Any]) -> None:
    """Report the usage limit of a client that waits for its end by itself, in mid-turn."""
    if event == "Resumed":
        return MemberReports(call.session).lift_limit()
    until = given.get("until")
    seconds = float(until) if isinstance(until, (int, float)) else time.time()
    return MemberReports(call.session).park(str(given.get("reason", "")), seconds)


def _ask(call: Call, event: str, given: dict[str, Any]) -> None:
    """Ask for a command that Gemini CLI's policy denies without the permit. It asks nobody itself."""
    from headcount.agents.gemini import PERMIT, wanted_command

    wanted = wanted_command(given)
    if wanted is None:
        return None
    answer = MemberReports(call.session).ask(wanted)
    if answer.allowed:
        with open(f"{os.environ['HEADCOUNT_CLIENT_DIRECTORY']}/{PERMIT}") as file:
            permit = file.read()
        added = {"tool_input": {**given["tool_input"], "description": f"{wanted.title} ({permit})"}}
        return _say(call, {"decision": "allow", "hookSpecificOutput": {"hookEventName": event, **added}})
    return _say(call, {"decision": "deny", "reason": f"Permission denied: {answer.reason}"})


def _beside(event: str, text: str) -> dict[str, Any]:
    """Put before the model, next to what it has."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _go_on(text: str) -> dict[str, Any]:
    """Tell the client to continue its turn."""
    return {"decision": "block", "reason": text}


def _say(call: Call, answer: dict[str, Any]) -> None:
    call.answer(answer, dumps(answer, quote_ascii))


_WITHOUT_INPUT = ("UserPromptSubmit", "PostToolUse")
_KINDS = {"PreCompact": "compacting", "SessionEnd": "session_ended"}
_EVENTS = {
    "UserPromptSubmit": _show_mail,
    "PostToolUse": _show_mail,
    "Stop": _may_stop,
    "PreCompact": _compact,
    "SessionEnd": _record,
    "BeforeTool": _ask,
    "Limited": _limit,
    "Resumed": _limit,
}
