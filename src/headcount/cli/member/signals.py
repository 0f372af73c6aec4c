"""What a member says about itself: `done`, `idle`, `approve`, `reject`, `review`."""

from __future__ import annotations

import time

from headcount.errors import UsageError
from headcount.store import saying

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.cli.member.call import Call
    from headcount.store.saying import SqlDesk, Word


def _say(call: Call, speak: Callable[[SqlDesk], Word]) -> Word:
    with call.write() as db:
        word = speak(saying.SqlDesk(db, call.team(), time.time()))
    call.ring(word.channels)
    return word


def done(call: Call) -> int:
    words, caller = call.words, call.caller
    word = _say(call, lambda desk: saying.done(desk, caller, words.word(0), words.has("--verified")))
    about = f" with {word.about}" if word.about else ""
    call.answer(
        {"status": "inspection_started", "task": word.about},
        f"Signalled done{about}. The witness inspects your workspace now; read your inbox for the result.",
    )
    return 0


def idle(call: Call) -> int:
    _say(call, lambda desk: saying.idle(desk, call.caller))
    call.answer({"status": "idle"}, "Reported idle. Claiming a task ends that.")
    return 0


def _answer(call: Call, approve: bool) -> int:
    words, caller, reason = call.words, call.caller, call.words.get("--reason") or ""
    if not approve and not reason.strip():
        raise UsageError("A rejection needs a reason", "--reason is missing", code="missing-reason")
    word = _say(call, lambda desk: saying.answer(desk, caller, words.word(0), approve, reason))
    if not word.counts:
        raise saying.too_late(word.about, approve)
    said = "Approved" if approve else "Rejected"
    after = "You will be inspected and stopped." if approve else "The lead reads your reason."
    call.answer(
        {"requestId": word.about, "approve": approve, "reason": reason}, f"{said} {word.about}. {after}"
    )
    return 0


def approve(call: Call) -> int:
    return _answer(call, True)


def reject(call: Call) -> int:
    return _answer(call, False)


def _review(call: Call, verdict: str) -> int:
    task_id, words = call.words.plain[0], call.words.get("--reason") or ""
    _say(call, lambda desk: saying.review(desk, call.caller, task_id, verdict, words))
    said = "Passed" if verdict == saying.PASS else "Requested changes to"
    call.answer({"taskId": task_id, "verdict": verdict, "reason": words}, f"{said} {task_id}.")
    return 0


def review_pass(call: Call) -> int:
    return _review(call, "pass")


def review_changes(call: Call) -> int:
    return _review(call, "changes")
