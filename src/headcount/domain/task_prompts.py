"""The prompts for members of a run: the task, how to report, how it ends. They are short, as tokens cost
money.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_DONE = """\
When it is done: commit everything on your branch, leave no stash and no untracked file{sync}, then run
`headcount done`. If you are sent back, fix what is named and run `headcount done` again. When you are asked
to stand down, run `headcount approve`, or `headcount reject --reason WHY`. Your mail: `headcount inbox`.
"""

_REVIEW = """\
Your workspace stands at the commit under review; change nothing. Say what you found with
`headcount review pass {task}` or `headcount review changes {task} --reason "what must change"`. When you are
asked to stand down, run `headcount approve`. Your mail: `headcount inbox`.
"""


_UNDER_REVIEW = """\
Commit {commit} on your branch is under review. Do nothing until you are told: your mail says what must
change, or asks you to stand down.
"""

_NO_REVIEW = """\
No commit waits for your review now. Your mail says when there is one: `headcount inbox`. When you are asked
to stand down, run `headcount approve`.
"""


def for_worker(who: str, task: Any, about: Mapping[str, Any]) -> str:
    parts = [who, f"# Task {task.id}: {about['subject']}", about["prompt"]]
    if task.words:
        parts.append(f"An earlier attempt was sent back:\n\n{task.words}")
    if task.base.startswith("refs/"):
        parts.append(f"Your workspace holds what the last worker left, from {task.base}.")
    if task.state in ("reviewing", "merging"):
        parts.append(_UNDER_REVIEW.format(commit=task.commit))
    command = about.get("sync", "")
    done = _DONE.format(sync=f", run `{command}` until it succeeds" if command else "")
    return "\n\n".join(part for part in (*parts, done) if part)


def for_reviewer(who: str, task: Any, about: Mapping[str, Any], seat: Any) -> str:
    """`seat` may have its verdict already, or be between two rounds: then it follows one that was cycled."""
    parts = [who, f"# Review task {task.id}: {about['subject']}", about["prompt"]]
    if task.state != "reviewing" or seat.verdict is not None:
        return "\n\n".join(part for part in (*parts, _NO_REVIEW) if part)
    where = f" (`git show {task.commit}` if your workspace stands elsewhere)" if seat.follows else ""
    parts.append(f"Commit: {task.commit}{where}")
    return "\n\n".join(part for part in (*parts, _REVIEW.format(task=task.id)) if part)


def another_round(task: Any, about: Mapping[str, Any]) -> str:
    return (
        f"Task {task.id} ({about['subject']}) has a new commit to review: {task.commit}\n\n"
        + _REVIEW.format(task=task.id)
    )
