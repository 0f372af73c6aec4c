"""What was saved: listing, looking, checking again, and getting it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app.world import find_repository
from headcount.errors import UsageError
from headcount.workspace import list_salvage, read_saved, restore, verify
from headcount.workspace.names import parse_salvage_ref

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.workspace import Repository

_PREFIX = "refs/headcount/salvage/"


def list_saved(app: App, team: str | None = None) -> list[dict[str, Any]]:
    repo = _repository(app)
    return [{"ref": ref, "commit": commit, **_about(ref)} for ref, commit in list_salvage(repo, team)]


def show_saved(app: App, name: str) -> dict[str, Any]:
    """The manifest: what stood where, and under which object each piece is now."""
    repo = _repository(app)
    ref = find_ref(repo, name)
    return {"ref": ref, **_about(ref), "manifest": read_saved(repo, ref).manifest}


def verify_saved(app: App, name: str | None = None, team: str | None = None) -> list[dict[str, Any]]:
    """Every object is there and is what the manifest says; all of them when none is named."""
    repo = _repository(app)
    refs = [find_ref(repo, name)] if name else [ref for ref, _ in list_salvage(repo, team)]
    return [
        {"ref": ref, "ok": (found := verify(repo, ref)).ok, "problems": list(found.problems)} for ref in refs
    ]


def restore_saved(app: App, name: str, target: str) -> dict[str, Any]:
    """The workspace again as it was, in a directory that does not exist or is empty."""
    app.check("restore")
    repo = _repository(app)
    ref = find_ref(repo, name)
    restored = restore(repo, ref, target)
    return {"ref": ref, "path": restored.path, "branch": restored.branch}


def find_ref(repo: Repository, name: str) -> str:
    """A whole ref, what follows the prefix, or a member's name if it has only one salvage."""
    refs = [ref for ref, _ in list_salvage(repo)]
    for candidate in (name, f"{_PREFIX}{name}"):
        if candidate in refs:
            return candidate
    of_member = [ref for ref in refs if _about(ref)["member"] == name]
    if len(of_member) == 1:
        return of_member[0]
    raise UsageError(
        f"Which salvage is {name!r}?" if of_member else f"There is no salvage {name!r}",
        f"these are: {', '.join(of_member or refs) or 'none'}",
        ("List them with `headcount salvage list`",),
        code="unknown-salvage",
    )


def _about(ref: str) -> dict[str, Any]:
    parsed = parse_salvage_ref(ref)
    team, member, generation, _ = parsed if parsed is not None else ("", "", None, 0)
    return {"team": team, "member": member, "generation": generation}


def _repository(app: App) -> Repository:
    repo = find_repository(app)
    if repo is None:
        raise UsageError(
            "There is no git repository here",
            f"without one, what was saved are tar files in {app.home}/archive",
            ("List them with `ls`, and unpack them with `tar -xf`",),
            code="no-repository",
        )
    return repo
