"""What was saved: listing, looking, checking again, and getting it back.

In refs of the repository; or, of members that worked where there is no git, in tar files (`archives.py`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.archives import find_archives
from headcount.app.world import find_repository
from headcount.errors import UsageError
from headcount.workspace import list_salvage, read_saved, restore, verify
from headcount.workspace.archive import list_entries, restore_archive, verify_archive
from headcount.workspace.names import parse_salvage_ref

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.domain.findings import Archive
    from headcount.workspace import Repository

_PREFIX = "refs/headcount/salvage/"

_SHOWN = ("ref", "commit", "team", "member", "generation")

Row = dict[str, Any]


def list_saved(app: App, team: str | None = None) -> list[Row]:
    app.check("salvage")
    return _of_team(app, team).rows


def show_saved(app: App, name: str) -> Row:
    """What was found when it was taken, and the manifest: under which object each piece is now."""
    app.check("salvage")
    saved = _Saved.of(app)
    row = saved.find(name)
    about = {key: row[key] for key in ("ref", "team", "member", "generation")}
    found, manifest = saved.read(row["ref"])
    return {**about, "found": found, "manifest": manifest}


def verify_saved(app: App, name: str | None = None, team: str | None = None) -> list[Row]:
    """Every object is there and is what the manifest says; all of them when none is named."""
    app.check("salvage")
    saved = _of_team(app, team)
    refs = [row["ref"] for row in ([saved.find(name)] if name else saved.rows)]
    problems = {ref: saved.problems(ref) for ref in refs}
    return [{"ref": ref, "ok": not found, "problems": found} for ref, found in problems.items()]


def restore_saved(app: App, name: str, target: str) -> Row:
    """The workspace again as it was, in a directory that does not exist or is empty."""
    app.check("restore")
    saved = _Saved.of(app)
    ref = saved.find(name)["ref"]
    path, branch = saved.restore(ref, target)
    return {"ref": ref, "path": path, "branch": branch}


def _of_team(app: App, team: str | None) -> _Saved:
    """Of a team that never was, "nothing was saved" is no answer. A ref may outlive the state."""
    saved = _Saved.of(app, team)
    if team is not None and not saved.rows:
        with app.store.read() as tx:
            app.load(tx, team)
    return saved


class _Saved(NamedTuple):
    """All that there is of it, in git and beside it."""

    repo: Repository | None
    archives: dict[str, Archive]
    rows: list[Row]

    @classmethod
    def of(cls, app: App, team: str | None = None) -> _Saved:
        repo = find_repository(app)
        refs = list_salvage(repo, team) if repo is not None else []
        archives = find_archives(app, team)
        rows = [{"ref": ref, "commit": commit, **_about(ref)} for ref, commit in refs]
        rows += [{key: getattr(one, key) for key in _SHOWN} for one, _ in archives]
        return cls(repo, {one.ref: archive for one, archive in archives}, rows)

    def find(self, name: str) -> Row:
        """A whole ref, what follows the prefix, or a member or one of its incarnations that has only one."""
        for row in self.rows:
            if row["ref"] in (name, f"{_PREFIX}{name}"):
                return row
        of_member = [
            row for row in self.rows if name in (row["member"], f"{row['member']}#{row['generation']}")
        ]
        if len(of_member) == 1:
            return of_member[0]
        others = [row["ref"] for row in of_member or self.rows]
        raise UsageError(
            f"Which salvage is {name!r}?" if of_member else f"There is no salvage {name!r}",
            f"these are: {', '.join(others) or 'none'}",
            ("List them with `headcount salvage list`",),
            code="unknown-salvage",
        )

    def read(self, ref: str) -> tuple[list[str], Row]:
        """What was found, line by line, and the manifest."""
        if ref in self.archives:
            entries = list_entries(self.archives[ref])
            return [entry["path"] for entry in entries], {"entries": entries}
        saved = read_saved(self._git, ref)
        return saved.message.split("\n")[2:], saved.manifest

    def problems(self, ref: str) -> list[str]:
        if ref in self.archives:
            return verify_archive(self.archives[ref])
        return list(verify(self._git, ref).problems)

    def restore(self, ref: str, target: str) -> tuple[str, str | None]:
        """Where to, and on which branch."""
        if ref in self.archives:
            restore_archive(self.archives[ref], target)
            return os.path.abspath(target), None
        restored = restore(self._git, ref, target)
        return restored.path, restored.branch

    @property
    def _git(self) -> Repository:
        assert self.repo is not None, "a ref was found, and no repository"
        return self.repo


def _about(ref: str) -> Row:
    parsed = parse_salvage_ref(ref)
    team, member, generation, _ = parsed if parsed is not None else ("", "", None, 0)
    return {"team": team, "member": member, "generation": generation}
