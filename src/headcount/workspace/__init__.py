"""Git: worktrees, findings, salvage, restore, the removal gate, integration."""

from __future__ import annotations

from headcount.workspace.archive import archive, restore_archive, verify_archive
from headcount.workspace.inspection import read_all, read_findings
from headcount.workspace.integration import Conflict, Integration, Merged, is_merged
from headcount.workspace.reflog import list_unclaimed
from headcount.workspace.remove import Refused, Removed, remove, remove_directory
from headcount.workspace.repository import Repository
from headcount.workspace.restore import Restored, restore
from headcount.workspace.salvage import salvage
from headcount.workspace.verify import Saved, Verification, list_salvage, read_saved, verify
from headcount.workspace.worktrees import Workspaces

__all__ = [
    "Conflict",
    "Integration",
    "Merged",
    "Refused",
    "Removed",
    "Repository",
    "Restored",
    "Saved",
    "Verification",
    "Workspaces",
    "archive",
    "is_merged",
    "list_salvage",
    "list_unclaimed",
    "read_all",
    "read_findings",
    "read_saved",
    "remove",
    "remove_directory",
    "restore",
    "restore_archive",
    "salvage",
    "verify",
    "verify_archive",
]
