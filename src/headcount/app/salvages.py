"""What was saved: list it, inspect it, check it again, and get it back.

It is in refs of the repository, or, of members that worked where there is no git, in tar files. Receipts
name both. A ref may be lost, as after `git fetch --prune` in a mirror, while its kept pack is there. Then the
object id in the receipt leads to it. With a hub, salvages are there, too, whatever happens to this machine.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.adapters import archive_directory, find_hub_url, find_repository, make_hub
from headcount.app.closed_teams import find_receipts
from headcount.errors import UsageError
from headcount.workspace.archive import find_private, list_entries, restore_archive, verify_archive
from headcount.workspace.git_workspaces import ARCHIVED, read_archive
from headcount.workspace.packing import put_back
from headcount.workspace.ref_names import SALVAGE, parse_salvage_ref
from headcount.workspace.restore import restore
from headcount.workspace.verify import list_salvage, read_saved, verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.app.app import App
    from headcount.domain.findings import Salvage
    from headcount.ports import Hub
    from headcount.workspace.repository import Repository

_PREFIX = f"{SALVAGE}/"
_HUB_S = 60.0
_PATIENCE_S = 86_400.0  # a person waits for it, and can interrupt it

Row = dict[str, Any]


def list_saved(app: App, team: str | None = None, *, at_hub: bool = False) -> list[Row]:
    """With `at_hub`, only those that the hub has: also of other clones, and of a machine that was lost."""
    app.check("salvage")
    if at_hub:
        saved = _Saved.of(app)
        there = open_hub(app, saved.git).names([f"{_PREFIX}*"], _HUB_S)
        rows = [_row(ref, commit, lost=False) for ref, commit in sorted(there.items())]
        rows = [{**row, "name": row["ref"].removeprefix(_PREFIX)} for row in rows]
        return [row for row in rows if team in (None, row["team"])]
    saved = _of_team(app, team)
    return [{**row, "name": saved.shortest(row)} for row in saved.rows]


def show_saved(app: App, name: str) -> Row:
    """What was found when it was taken, and the manifest: under which object each piece is now."""
    app.check("salvage")
    saved = _Saved.of(app)
    row = saved.find(name)
    about = {key: row[key] for key in ("ref", "team", "member", "generation", "lost")}
    found, manifest = saved.read(row["ref"])
    private = find_private(saved.archive_directory, row["ref"], manifest, saved.receipts.get(row["ref"]))
    return {
        **about, "found": found, "manifest": manifest, "private": private.as_dict() if private else None,
    }  # fmt: skip


def verify_saved(
    app: App,
    name: str | None = None,
    team: str | None = None,
    look: Callable[[int, int, str], None] = lambda done, total, ref: None,
    *,
    at_hub: bool = False,
) -> list[Row]:
    """Every ref and object that a receipt names, and every salvage without one; or only the named one.

    `look` is called before each, with how many are done. With `at_hub`, the hub must also name each: one that
    was restored from a backup may have lost some.
    """
    app.check("salvage")
    saved = _of_team(app, team)
    rows = [saved.find(name)] if name else saved.rows
    absent = _find_absent(open_hub(app, saved.git), saved, rows) if at_hub else {}
    refs = [row["ref"] for row in rows]
    checked: list[Row] = []
    for ref in dict.fromkeys(refs):
        look(len(checked), len(refs), ref)
        found = saved.problems(ref) + ([absent[ref]] if ref in absent else [])
        checked.append({"ref": ref, "ok": not found, "problems": found})
    return checked


def push_saved(app: App, team: str | None = None) -> list[str]:
    """Push every salvage that the hub does not have; return their names there."""
    app.check("salvage")
    saved = _of_team(app, team)
    hub = open_hub(app, saved.git)
    absent = _find_absent(hub, saved, saved.rows)
    here = {row["ref"]: row["commit"] for row in saved.rows if not row["lost"] and row["ref"] in absent}
    return sorted(hub.push(here, _PATIENCE_S).values()) if here else []


def open_hub(app: App, repo: Repository) -> Hub:
    """The hub in the settings, or a refusal."""
    url = find_hub_url(app)
    if not url:
        raise UsageError(
            "There is no hub", "no setting names one", ("Set `hub` under `[fleet]`, or HEADCOUNT_HUB",),
            code="no-hub",
        )  # fmt: skip
    return make_hub(repo, url)


def _find_absent(hub: Hub, saved: _Saved, rows: list[Row]) -> dict[str, str]:
    """By ref: why the hub does not have it. Plain directories are never there."""
    in_git = [row for row in rows if parse_salvage_ref(row["ref"])]
    receipts = {row["ref"]: saved.receipts.get(row["ref"]) for row in in_git}
    at_hub = {ref: receipt.hub if receipt and receipt.hub else ref for ref, receipt in receipts.items()}
    named = hub.names(at_hub.values(), _HUB_S)
    found: dict[str, str] = {}
    for row in in_git:
        ref, now = row["ref"], named.get(at_hub[row["ref"]])
        receipt = receipts[ref]
        alone = f": saved on {receipt.only_on} only" if receipt and receipt.only_on else ""
        if now is None:
            found[ref] = f"the hub does not have it{alone}"
        elif now != row["commit"]:
            found[ref] = f"at the hub it is {now}, and here {row['commit']}"
    return found


def restore_saved(app: App, name: str, target: str) -> Row:
    """The workspace again as it was, in a directory that does not exist or is empty.

    A ref that is gone is made again first, so that no `git gc` takes what is being restored. A salvage that
    is not here is fetched from the hub, if there is one.
    """
    app.check("restore")
    saved = _Saved.of(app)
    try:
        row = saved.find(name)
    except UsageError:
        if not find_hub_url(app):
            raise
        saved.rows.extend({**row, "lost": True} for row in list_saved(app, at_hub=True))
        row = saved.find(name)
    ref = row["ref"]
    if row["lost"] and find_hub_url(app) and parse_salvage_ref(ref):
        open_hub(app, saved.git).fetch(row["commit"], _PATIENCE_S)
    again = row["lost"] and put_back(saved.git, ref, row["commit"])
    path, branch, notes = saved.restore(ref, target)
    if row["lost"]:
        how = "The ref was made again." if again else "The ref could not be made again."
        notes = [f"{ref} was gone; restored from {row['commit']}. {how}", *notes]
    return {"ref": ref, "path": path, "branch": branch, "notes": notes}


def _of_team(app: App, team: str | None) -> _Saved:
    """Of a team that never was, "nothing was saved" is no answer. A ref may outlive the state."""
    saved = _Saved.of(app, team)
    if team is not None and not saved.rows:
        with app.store.read() as tx:
            app.load(tx, team)
    return saved


class _Saved(NamedTuple):
    """All that there is of it, in git and beside it, and what receipts say."""

    repo: Repository | None
    receipts: dict[str, Salvage]
    rows: list[Row]
    archive_directory: str

    @classmethod
    def of(cls, app: App, team: str | None = None) -> _Saved:
        repo = find_repository(app)
        refs = dict(list_salvage(repo, team)) if repo is not None else {}
        receipts = {one.ref: one for one in find_receipts(app, team)}
        there = [_row(ref, commit, lost=False) for ref, commit in refs.items()]
        others = [one for ref, one in receipts.items() if ref not in refs]
        lost = [_row(one.ref, one.commit, lost=True) for one in others if parse_salvage_ref(one.ref)]
        tars = [_row(one.ref, one.commit, one, lost=False) for one in others if one.ref.startswith(ARCHIVED)]
        return cls(repo, receipts, there + lost + tars, archive_directory(app))

    def find(self, name: str) -> Row:
        """A whole ref, what follows the prefix, or a short name that means only one of them."""
        meant = [row for row in self.rows if name in (row["ref"], row["ref"].removeprefix(_PREFIX))]
        meant = meant or [row for row in self.rows if name in _short_names(row)]
        if len(meant) == 1:
            return meant[0]
        others = [self.shortest(row) for row in meant or self.rows]
        raise UsageError(
            f"Which salvage is {name!r}?" if meant else f"There is no salvage {name!r}",
            f"these are: {', '.join(others) or 'none'}",
            ("List them with `headcount salvage list`",),
            code="unknown-salvage",
        )

    def shortest(self, row: Row) -> str:
        """Return the shortest name that means only this one: `bob`, `bob#2`, `bob#2.2`, or all of its ref."""
        others = {name for other in self.rows if other is not row for name in _short_names(other)}
        return next((name for name in _short_names(row) if name not in others), str(row["ref"]))

    def read(self, ref: str) -> tuple[list[str], Row]:
        """Return the lines about the contents, and the manifest."""
        if ref.startswith(ARCHIVED):
            entries = list_entries(read_archive(self.receipts[ref]))
            return [entry["path"] for entry in entries], {"entries": entries}
        saved = read_saved(self.git, ref, self._commit(ref))
        return saved.message.split("\n")[2:], saved.manifest

    def problems(self, ref: str) -> list[str]:
        if ref.startswith(ARCHIVED):
            return verify_archive(read_archive(self.receipts[ref]))
        if self.repo is None:
            return ["it is in git, and there is no repository here"]
        receipt, place = self.receipts.get(ref), self.archive_directory
        verified = verify(self.git, ref, receipt=receipt, timeout_s=_PATIENCE_S, archive_directory=place)
        return list(verified.problems)

    def restore(self, ref: str, target: str) -> tuple[str, str | None, list[str]]:
        """Where to, on which branch, and where it is not exactly what it was."""
        if ref.startswith(ARCHIVED):
            notes = restore_archive(read_archive(self.receipts[ref]), target)
            return os.path.abspath(target), None, notes
        restored = restore(self.git, ref, target, self.receipts.get(ref), self.archive_directory)
        return restored.path, restored.branch, list(restored.notes)

    def _commit(self, ref: str) -> str | None:
        return self.receipts[ref].commit if ref in self.receipts else None

    @property
    def git(self) -> Repository:
        if self.repo is None:
            raise UsageError(
                "A salvage in git needs its repository", "there is none here", code="no-repository"
            )
        return self.repo


def _short_names(row: Row) -> list[str]:
    """Return its names without the team. The second salvage of `bob#1` is `bob#1.2`."""
    key = f"{row['member']}#{row['generation']}"
    parsed = parse_salvage_ref(row["ref"])
    return [row["member"], key, f"{key}.{parsed[3] if parsed is not None else 1}"]


def _row(ref: str, commit: str, archived: Salvage | None = None, *, lost: bool) -> Row:
    parsed = parse_salvage_ref(ref)
    team, member, generation, _ = parsed if parsed is not None else ("", "", None, 0)
    if archived is not None:
        team, member, generation = archived.team, archived.member, archived.generation
    return {
        "ref": ref, "commit": commit, "team": team, "member": member, "generation": generation, "lost": lost,
    }  # fmt: skip
