"""Remove what nobody needs any more: branches that are merged or empty, and what retention would remove.

A branch goes only if headcount made it, its team is closed, no worktree uses it, and a branch or tag that
stays reaches it. Everything else on it would be the only copy.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.adapters import find_repository
from headcount.app.closed_teams import closed_ids
from headcount.app.retention import choose, find_kept, forget_mail
from headcount.engine.ordered_starts import ROSTER
from headcount.errors import Declined, HeadcountError
from headcount.workspace.left_branches import (
    OURS,
    delete_held,
    find_holders,
    is_made_by_headcount,
    read_refs,
)
from headcount.workspace.ref_names import integration_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headcount.app.app import App
    from headcount.ports import Tx
    from headcount.workspace.left_branches import Ref
    from headcount.workspace.repository import Repository

_HEADS = "refs/heads/"
_INTEGRATION = "/integration"

Row = dict[str, Any]


class Litter(NamedTuple):
    kind: str
    name: str
    bytes: int
    why: str
    remove: Callable[[], None]

    def as_dict(self) -> Row:
        return {"kind": self.kind, "name": self.name, "bytes": self.bytes, "why": self.why}


def find_litter(app: App, look: Callable[[str], None] = lambda _: None) -> tuple[list[Litter], int]:
    """Return all that can go, and how many messages. `look` is called with each branch that is examined."""
    app.check("prune")
    repo, now = find_repository(app), time.time()
    branches = list(_branches(app, repo, look)) if repo is not None else []
    chosen = choose(find_kept(app), app.settings.policy, now)
    others = [Litter(one.kind, one.name, one.bytes, one.why, one.remove) for one in chosen]
    return branches + others, forget_mail(app, now, dry_run=True)


def remove_litter(app: App, found: list[Litter], look: Callable[[int], None] = lambda _: None) -> Row:
    """Remove it. Anything that cannot be removed is kept and listed. `look` gets the number so far."""
    app.check("prune")
    removed: list[Litter] = []
    kept: list[Row] = []
    mail = forget_mail(app, time.time())
    for number, one in enumerate(found):
        look(number)
        try:
            one.remove()
            removed.append(one)
        except (HeadcountError, OSError) as error:
            problem = getattr(error, "why", "") or str(error)
            kept.append({"kind": one.kind, "name": one.name, "problem": problem})
    return answer(removed, mail, dry_run=False, kept=kept)


def answer(found: list[Litter], mail: int, *, dry_run: bool, kept: list[Row] | None = None) -> Row:
    return {
        "dryRun": dry_run,
        "removed": [one.as_dict() for one in found],
        "kept": kept or [],
        "mail": mail,
        "bytes": sum(one.bytes for one in found),
    }


def _branches(app: App, repo: Repository, look: Callable[[str], None]) -> Iterator[Litter]:
    form = "--format=%(refname:lstrip=2)%00%(objectname)%00%(symref)"
    there = {name: tip for name, tip, link in read_refs(repo, form, OURS) if not link}
    with app.store.read() as tx:
        ours = _made_for(tx, closed_ids(tx)) - _made_for(tx, _open_ids(tx))
    for branch in sorted(ours & there.keys()):
        look(branch)
        holder = _find_holder(repo, branch, there[branch])
        if holder is not None and not repo.branch_in_use(branch) and is_made_by_headcount(repo, branch):
            name = holder.name.removeprefix(_HEADS)
            yield Litter("branch", branch, 0, f"all of it is in {name}", partial(_delete, repo, branch,
                         there[branch], holder))  # fmt: skip


def _made_for(tx: Tx, team_ids: list[str]) -> set[str]:
    """The branches that headcount made for members and runs of these teams. One that the user has named under
    `[integration]` is the user's."""
    members = {
        str(fact["branch"])
        for team_id in team_ids
        for fact in tx.facts(team_id, "workspace").values()
        if fact.get("branch")
    }
    runs = {integration_name(team_id.partition("#")[0]): team_id for team_id in team_ids}
    return members | {
        branch
        for branch, team_id in runs.items()
        if (tx.fact(team_id, "", ROSTER) or {}).get("integration") == branch
    }


def _open_ids(tx: Tx) -> list[str]:
    return [card.id for name in tx.team_names() if (card := tx.team_card(name)) is not None]


def _find_holder(repo: Repository, branch: str, tip: str) -> Ref | None:
    """A ref that reaches the branch and stays: the user's, or the integration branch of a run. A branch of
    another member is not enough, because its name says nothing about this work."""
    for ref in find_holders(repo, tip):
        mine = ref.name == f"{_HEADS}{branch}"
        if not mine and (not ref.name.startswith(OURS) or ref.name.endswith(_INTEGRATION)):
            return ref
    return None


def _delete(repo: Repository, branch: str, tip: str, holder: Ref) -> None:
    if not delete_held(repo, branch, tip, holder):
        raise Declined(
            f"Did not delete {branch}", "it is in use, has a stash, or has moved", code="branch-in-use"
        )
