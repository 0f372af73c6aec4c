"""Copy saved work to the hub before a member is stopped and before its workspace is removed (I12).

A team without a hub pays nothing here. With one, a member's salvage and the branches with its commits are
pushed and named by the hub first. A person may decide that a copy on this host is enough, if the hub cannot
be reached; then the receipt says so. Private files and plain directories never leave their host.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.domain.findings import Workspace
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.domain.findings import Salvage
    from headcount.engine.job import Job

FACT = "hub"  # about an incarnation: the refs at the hub with its work, or the host that alone has it
# Of a limit of the rules: an act must report before its limit is over, or nobody learns the cause.
_SHARE = 0.9
_LEAST_S = 1.0
_HEADS, _OURS = "refs/heads/", "headcount/"
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Copied(NamedTuple):
    """The salvage as the receipt names it, and the fact about its member; None without a hub."""

    saved: Salvage | None
    fact: Mapping[str, Any] | None = None


class Time:
    """Count down a limit of the rules, from now on."""

    def __init__(self, limit_s: float) -> None:
        self._until = time.monotonic() + _SHARE * limit_s

    @property
    def left_s(self) -> float:
        return max(_LEAST_S, self._until - time.monotonic())


def copy_work(job: Job, saved: Salvage | None, limit_s: float) -> Copied:
    """Push a member's salvage and branches. Return when the hub names each of them, else raise."""
    hub, place = job.hub, job.workspace
    if hub is None or place is None:
        return Copied(saved)
    if job.member is not None and job.member.here:
        alone = replace(saved, only_on=hub.here) if saved is not None else None
        return Copied(alone, {"refs": {}, "only_on": hub.here})
    refs = job.world.workspaces.list_branches(Workspace.from_dict(place), job.start)
    in_git = saved is not None and saved.ref.startswith("refs/")
    if saved is not None and in_git:
        refs[saved.ref] = saved.commit
    names = hub.push(refs, limit_s) if refs else {}
    if saved is not None:
        saved = replace(saved, hub=names[saved.ref]) if in_git else replace(saved, only_on=hub.here)
    return Copied(saved, {"refs": {names[ref]: commit for ref, commit in refs.items()}, "only_on": ""})


def try_copy(job: Job, limit_s: float) -> tuple[Mapping[str, Any] | None, str]:
    """Push a member's branches. Return the fact about it, and why the hub does not have them, or ""."""
    try:
        return copy_work(job, None, limit_s).fact, ""
    except HeadcountError as error:
        return None, error.why or str(error)


def bring(job: Job, *names: str) -> None:
    """Get what an act needs and another host may have made: commits by their ids, salvages, branches.

    Other names are the user's own. Their branches are never moved to where a hub has them.
    """
    hub = job.hub
    for name in names if hub is not None else ():
        whole = f"{_HEADS}{name}" if name.startswith(_OURS) else name
        if hub is not None and (whole.startswith("refs/") or _OID.fullmatch(whole)):
            job.world.workspaces.bring(whole, hub, job.policy.inspect_timeout_s, job.start)


def push_branch(job: Job, branch: str) -> str:
    """Push the integration branch. Return why the hub does not have it, or "".

    One that the settings name is copied under a name of headcount's: the hub may be a forge, where a branch
    of the same name is not ours to move.
    """
    at_hub = branch if branch.startswith(_OURS) else f"{_OURS}{job.team.name}/integration"
    try:
        if job.hub is not None:
            job.hub.push({f"{_HEADS}{at_hub}": f"{_HEADS}{branch}"}, job.policy.inspect_timeout_s)
    except HeadcountError as error:
        return f"{branch} is not at the hub: {error.why or error}"
    return ""


def find_lost(job: Job, saved: Iterable[Salvage]) -> list[str]:
    """Return the problems with salvages that the hub has lost, as after a rollback, and does not take again.

    The hub need not have the work that a person decided to keep on this host.
    """
    hub = job.hub
    expected = {one.hub: one for one in saved if one.hub}
    if hub is None or not expected:
        return []
    limit_s = _SHARE * job.policy.salvage_timeout_s / 2
    try:
        named = hub.names(expected, limit_s)
        lost = {ref: one.commit for ref, one in expected.items() if named.get(ref) != one.commit}
        moved = [ref for ref in lost if ref in named]
        if moved:
            return [f"{moved[0]} is at {named[moved[0]]} at the hub, and the receipt names {lost[moved[0]]}"]
        if lost:
            hub.push(lost, limit_s)
    except HeadcountError as error:
        return [error.why or str(error)]
    return []
