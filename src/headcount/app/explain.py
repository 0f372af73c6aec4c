"""What an error code means, because of what it comes as a rule, and what to do."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import NamedTuple

from headcount.compiler.diagnostics import CODES
from headcount.errors import UsageError

_DEFINITION = 3


class Page(NamedTuple):
    code: str
    exit: int
    what: str
    why: str = ""
    do: str = ""


@cache
def read_pages() -> dict[str, Page]:
    """Every code there is, in alphabetical order; the compiler's have their text beside its rules."""
    text = (resources.files("headcount.app") / "errors.toml").read_text("utf-8")
    pages = {code: Page(code, **fields) for code, fields in tomllib.loads(text).items()}
    for code, meaning in CODES.items():
        known = pages.get(code)
        # A few are said by the compiler and by others, of the same mistake.
        what = f"{known.what} In a definition: {meaning}" if known else meaning
        pages[code] = known._replace(what=what) if known else Page(code, _DEFINITION, what)
    return dict(sorted(pages.items()))


def explain(code: str) -> Page:
    from difflib import get_close_matches

    pages = read_pages()
    wanted = code.strip("[]")
    if wanted in pages:
        return pages[wanted]
    close = get_close_matches(wanted, list(pages), n=3)
    raise UsageError(
        f"There is no error code {wanted!r}",
        f"did you mean {', '.join(close)}?" if close else "none is like it",
        ("List all of them with `headcount explain`",),
        code="unknown-code",
    )


def write_reference() -> str:
    """docs/reference/errors.md, whole."""
    parts = [_INTRODUCTION]
    for page in read_pages().values():
        lines = [f"Exit code {page.exit}. {page.what}"]
        lines += [f"{said} {text}" for said, text in (("Because:", page.why), ("Do:", page.do)) if text]
        parts.append(f"## {page.code}\n\n" + "\n\n".join(lines) + "\n")
    return "\n".join(parts)


_INTRODUCTION = """\
# Error codes

An error says what happened, because of what, and what to do next; its code stands in square brackets. The
same fields (`code`, `what`, `why`, `hints`) are in `--json` and over MCP. `headcount explain CODE` prints
what stands here.

Exit codes: 0 yes, 1 it ran and the honest answer is no, 2 usage, 3 the definition does not compile, 4 the
world failed (store, git, tmux, process), 5 not allowed, 70 a bug of ours.

This page is written by `python -m headcount.app.explain`, from what `headcount explain` reads.
"""


if __name__ == "__main__":
    print(write_reference(), end="")
