"""Every exception that headcount raises, in one tree.

    HeadcountError                 exit   whose mistake, or what it says
    ├── Declined                    1     it ran, and the honest answer is no
    ├── UsageError                  2     our caller's: a wrong name, id, size or option
    ├── DefinitionError             3     the definition does not compile
    ├── WorldError                  4     the machine's: store, git, tmux, process
    │   ├── StoreError
    │   │   └── FencedOut                     another engine drives this team now
    │   ├── GitError
    │   └── ProcessError
    ├── NotAllowed                  5     the caller may not do this
    └── Bug                        70     ours

An error says what happened (`what`), because of what (`why`) and what to do next (`hints`), and
carries a `code` that `headcount explain` knows. The library never prints; front ends render.

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
        """The same fields in `--json` and over MCP."""
        return {"code": self.code, "what": self.what, "why": self.why, "hints": list(self.hints)}

    def render(self) -> str:
        lines = [f"Error: {self.what} [{self.code}]"]
        if self.why:
            lines.append(f"Because: {self.why}")
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
