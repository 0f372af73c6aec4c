"""From findings to a verdict: by the rules, by a command, or by the witness. A failed judge means dirty."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from headcount.domain.findings import Verdict
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.domain.findings import Findings
    from headcount.domain.policy import Policy
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

    Run = Callable[..., subprocess.CompletedProcess[str]]

_NOT_JUDGED = ("lead", "witness")  # nobody judges itself, or who would stand above it


def judge(run: Run, team: Team, member: Member, findings: Findings, policy: Policy) -> Verdict | None:
    """None: the witness is to judge; its verdict comes as an input, within the limit.

    `run` is for a command. It runs where the settings are, not in the workspace: there, a relative path would
    be a file that the member can replace.
    """
    if member.role in _NOT_JUDGED or policy.judge == "rules":
        return Verdict.by_rules(findings)
    if policy.judge == "witness":
        return None if _has_witness(team) else Verdict.by_rules(findings)
    command = (policy.judge,) if isinstance(policy.judge, str) else policy.judge
    return by_command(command, run, member, findings, policy.judge_timeout_s)


def by_command(
    command: tuple[str, ...], run: Run, member: Member, findings: Findings, timeout_s: float
) -> Verdict:
    """Findings as JSON on its standard input, `{"clean": bool, "issues": [text]}` on its standard output."""
    question = json.dumps({"member": member.name, "attempt": member.attempts, **findings.as_dict()})
    name = f"command {command[0]}"
    try:
        done = run(command, given=question, timeout_s=timeout_s)
        done.check_returncode()
        answer = json.loads(done.stdout)
        clean, issues = answer["clean"], answer.get("issues", [])
        if not isinstance(clean, bool) or not isinstance(issues, list) or not all(map(_is_text, issues)):
            raise ValueError('it must print {"clean": true or false, "issues": [text, …]}')
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
        return Verdict(False, (f"the judge gave no verdict: {_reason(error)}",), name)
    if not clean and not issues:
        issues = findings.issues() or ["the judge found it dirty and did not say why"]
    return Verdict(clean, tuple(issues), name)


def _is_text(issue: object) -> bool:
    """And none that JSON can write and nobody can keep: half a surrogate pair."""
    return isinstance(issue, str) and issue == issue.encode(errors="replace").decode()


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = error.stderr.strip()[-200:]
        return f"it ended with code {error.returncode}" + (f": {said}" if said else "")
    return str(error)[:200]


def _has_witness(team: Team) -> bool:
    return any(m.role == "witness" and m.state is State.RUNNING for m in team.members.values())
