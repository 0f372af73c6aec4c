"""Run the members' commands: one use case each, and its answer as text or JSON."""

from __future__ import annotations

import sys

from headcount.domain.mail_text import message_head, message_text, task_line, task_text
from headcount.errors import UsageError
from headcount.protocol.authority import WORKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.cli.member.command_line import Call


# --- mail ------------------------------------------------------------------------------------------------


def inbox(call: Call) -> int:
    from headcount.app import mail

    words, session, team = call.words, call.session, call.team
    wait = words.get("--wait")
    if wait is not None:
        mail.wait_for_mail(session, _seconds(wait), team)
    only_unread = words.has("--unread")
    found = mail.inbox(session, team, unread=only_unread, sender=words.get("--from"))
    unread = [one for one in found if one.read_at is None]
    text = "".join(message_text(one) if one.read_at is None else message_head(one) + "\n" for one in found)
    of_all = "" if only_unread else f" of {len(found)}"
    plural = "s" * (len(unread if only_unread else found) != 1)
    call.answer([mail.as_json(one) for one in found], f"{text}{len(unread)} unread{of_all} message{plural}.")
    if not words.has("--peek"):
        mail.mark_read(session, unread, team)
    return 0


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= 86_400:
        raise UsageError(
            f"--wait {text} is not a time", "it must be a number of seconds from 0 to 86400", code="usage"
        )
    return seconds


def read(call: Call) -> int:
    from headcount.app import mail

    found, own = mail.read(call.session, call.words.plain[0], call.team)
    call.answer(mail.as_json(found), message_text(found))
    if own:
        mail.mark_read(call.session, [found], call.team)
    return 0


def send(call: Call) -> int:
    from headcount.app import mail

    to, subject, body = call.words.plain[0], call.words.get("--subject"), call.words.get("--message")
    if subject is None or body is None:
        missing = "-s SUBJECT" if subject is None else "-m BODY"
        raise UsageError(f"{missing} is missing", "usage: headcount send TO -s SUBJECT -m BODY", code="usage")
    if body == "-":
        body = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    sent = mail.send(call.session, to, subject, body, call.team, call.words.get("--priority") or "normal")
    ids = ", ".join(sent.ids)
    call.answer(
        {"messageId": sent.ids[0], "messageIds": sent.ids, "delivered": sent.delivered, "to": sent.boxes},
        f"Sent {ids} to {', '.join(sent.boxes)}."
        if sent.delivered
        else f"Not delivered: {sent.note} ({ids}).",
    )
    return 0 if sent.delivered else 1


# --- what a member reports about itself ------------------------------------------------------------------


def done(call: Call) -> int:
    from headcount.app import signals

    task = signals.done(call.session, call.words.word(0), call.words.has("--verified"), call.team)
    return _done(call, task)


def _done(call: Call, task: str | None) -> int:
    about = f" with {task}" if task else ""
    call.answer(
        {"status": "inspection_started", "task": task},
        f"Signalled done{about}. The witness inspects your workspace now; read your inbox for the result.",
    )
    return 0


def idle(call: Call) -> int:
    from headcount.app import signals

    signals.idle(call.session, call.team)
    call.answer({"status": "idle"}, "Reported idle. Claiming a task ends that.")
    return 0


def approve(call: Call) -> int:
    return _answer(call, True)


def reject(call: Call) -> int:
    return _answer(call, False)


def _answer(call: Call, approve: bool) -> int:
    from headcount.app import signals

    reason = call.words.get("--reason") or ""
    request, _ = signals.answer(call.session, call.words.word(0), approve, reason, call.team)
    after = "You will be inspected and stopped." if approve else "The lead reads your reason."
    call.answer(
        {"requestId": request, "approve": approve, "reason": reason},
        f"{'Approved' if approve else 'Rejected'} {request}. {after}",
    )
    return 0


def review_pass(call: Call) -> int:
    return _review(call, "pass", "Passed")


def review_changes(call: Call) -> int:
    return _review(call, "changes", "Requested changes to")


def _review(call: Call, verdict: str, shown: str) -> int:
    from headcount.app import signals

    task_id, reason = call.words.plain[0], call.words.get("--reason") or ""
    signals.review(call.session, task_id, verdict, reason, call.team)
    call.answer({"taskId": task_id, "verdict": verdict, "reason": reason}, f"{shown} {task_id}.")
    return 0


# --- tasks -----------------------------------------------------------------------------------------------


def list_tasks(call: Call) -> int:
    from headcount.app import tasks

    words, wanted = call.words, call.words.get("--metadata")
    metadata = None
    if wanted is not None:
        key, _, value = wanted.partition("=")
        metadata = {key: value}
    found = tasks.list_tasks(call.session, words.get("--status"), words.get("--owner"), call.team, metadata)
    text = "".join(task_line(task) + "\n" for task in found)
    plural = "s" * (len(found) != 1)
    call.answer([tasks.as_text(task) for task in found], f"{text}{len(found)} task{plural}.")
    return 0


def claim(call: Call) -> int:
    from headcount.app import tasks

    task = tasks.claim(call.session, call.words.word(0), call.team)
    if task is None:
        call.answer(None, "No task is available: each is claimed, complete, or waits for others.")
        return 1
    call.answer(tasks.as_text(task), f"Claimed {task_text(task)}")
    return 0


def complete(call: Call) -> int:
    """Complete a task. From a worker it is a done signal."""
    from headcount.app import tasks

    task = tasks.complete(call.session, call.words.plain[0], call.team, call.words.has("--verified"))
    if call.caller.kind == WORKER:
        return _done(call, task.id)
    call.answer(tasks.as_text(task), f"Completed {task.id}.")
    return 0


# --- client ----------------------------------------------------------------------------------------------


def client(call: Call) -> int:
    """Run as the host of a client, started by the engine."""
    import os

    from headcount.agents.host.host_process import Host, Options
    from headcount.agents.launch import ACP
    from headcount.agents.registry import CLIENTS
    from headcount.app.hosting import MemberReports, MemberTerminal, patient
    from headcount.errors import NotAllowed
    from headcount.runtime.turn_tree import TurnTree

    name, *command = call.words.plain
    if name not in CLIENTS and not (name == ACP and command):
        raise UsageError(
            f"There is no client {name!r}", f"known ones: {', '.join(CLIENTS)}", code="unknown-agent"
        )
    if not call.caller.is_member or "HEADCOUNT_MARK" not in os.environ:
        raise UsageError(
            "This command is for the engine", "it hosts a client for a member",
            (f"Start one with `headcount spawn NAME --agent {name}`",), code="not-a-member",
        )  # fmt: skip
    if not call.words.get("--trusted"):
        raise NotAllowed(
            f"Did not start {name}", "the start does not name a folder that the user trusts",
            ("Stand the member down, and start it again",), code="untrusted-repository",
        )  # fmt: skip
    words = call.words
    in_terminal = words.has("--terminal")
    permissions = words.get("--permissions") or "edit"
    with call.session.store.read() as tx:
        settings = tx.team_settings(call.caller.team or "")
    allow, deny = tuple(settings.get("allow", ())), tuple(settings.get("deny", ()))
    options = Options(
        words.get("--model") or "", permissions, words.get("--trusted") or "", in_terminal, allow, deny,
        settings.get("policy", {}).get("ask_timeout_s", Options().ask_timeout_s),
    )  # fmt: skip
    reports = MemberReports(call.session)
    if name == ACP:
        from headcount.agents.acp.acp_host import AcpHost
        from headcount.agents.acp.known_agents import find_agent

        agent = find_agent(tuple(command))
        return AcpHost(patient(reports), agent, tuple(command), options, TurnTree()).run_turns()
    if not in_terminal:
        reports = patient(reports, but=("record_usage",))
    host = Host(reports, CLIENTS[name], options, TurnTree())
    if not in_terminal:
        return host.run_turns()
    home, mark = os.environ["HEADCOUNT_HOME"], os.environ["HEADCOUNT_MARK"]
    return host.run_terminal(MemberTerminal(home, mark, CLIENTS[name].screen.hold))
