"""Every exception that headcount raises, in one tree.

    HeadcountError                 exit   meaning
    ├── Declined                    1     it ran, and the result is negative
    ├── UsageError                  2     the caller's mistake: a wrong name, id, size or option
    ├── DefinitionError             3     the definition does not compile
    ├── WorldError                  4     the machine failed: store, git, tmux, process
    │   ├── StoreError
    │   │   ├── FencedOut                     another engine has taken over this team
    │   │   └── OutcomeUnknown                a change may be stored or not: read before you repeat it
    │   ├── GitError
    │   └── ProcessError
    ├── NotAllowed                  5     the caller may not do this
    └── Bug                        70     a bug in headcount

An error has `what` happened, `why`, `hints` on what to do next, and a `code` that `headcount explain` knows.
The library never prints; front ends render errors.

This module is on the path of every member command: it imports nothing.
"""

from __future__ import annotations


class HeadcountError(Exception):
    """The root of the tree. `code` is stable and kebab-case; programs may match on it."""

    exit_code = 70
    code = "error"

    def __init__(self, what: str, why: str = "", hints: tuple[str, ...] = (), code: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hints = hints
        if code:
            self.code = code

    def as_dict(self) -> dict[str, object]:
        """Return the fields that `--json` and MCP show."""
        return {"code": self.code, "what": self.what, "why": self.why, "hints": list(self.hints)}

    def render(self) -> str:
        lines = [f"Error: {self.what} [{self.code}]"]
        if self.why:
            # A wrong call has no cause to name: its second line is the usage.
            usage = self.why.startswith("usage: ")
            lines.append(f"Usage: {self.why[7:]}" if usage else f"Because: {self.why}")
        lines.extend(f"Hint: {hint}" for hint in self.hints)
        return "\n".join(lines)


class Declined(HeadcountError):
    exit_code = 1
    code = "declined"


class UsageError(HeadcountError):
    exit_code = 2
    code = "usage"


class DefinitionError(HeadcountError):
    exit_code = 3
    code = "definition"


class WorldError(HeadcountError):
    exit_code = 4
    code = "world"


class StoreError(WorldError):
    code = "store"


class FencedOut(StoreError):
    """The lease was lost: whatever this process still wants to write is not its to write any more."""

    code = "fenced-out"


class OutcomeUnknown(StoreError):
    """The database was lost while it committed: the change may be stored, or not."""

    code = "outcome-unknown"


class GitError(WorldError):
    code = "git"


class ProcessError(WorldError):
    code = "process"


class NotAllowed(HeadcountError):
    exit_code = 5
    code = "not-allowed"


class Bug(HeadcountError):
    exit_code = 70
    code = "bug"

    def __init__(self, what: str, why: str = "", hints: tuple[str, ...] = (), code: str = "") -> None:
        super().__init__(what, why, hints or ("See what to report with `headcount explain bug`",), code)
