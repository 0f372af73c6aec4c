"""Names, addresses and sizes: what is accepted, said in one place.

On the path of every member command, so no `re` here: the alphabets are spelled out.
"""

from __future__ import annotations

from headcount.errors import UsageError

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_ALNUM = frozenset(_LOWER + _LOWER.upper() + _DIGITS)

TEAM_START = frozenset(_LOWER + _DIGITS)
TEAM_REST = TEAM_START | {"-"}
MEMBER_REST = _ALNUM | {"_", "-"}
RESERVED = frozenset(("lead", "witness", "operator", "mayor", "main", "all"))

TEAM_NAME_MAX = 50
MEMBER_NAME_MAX = 64

LEAD = "lead"
WITNESS = "witness"
OPERATOR = "operator"
SETTINGS_FILE = "headcount.toml"

SHOWN_MAIL = "HEADCOUNT_SHOWN_MAIL"
"""A variable: the ids of the mail in a turn's prompt. The hooks need not show it again."""
PERMISSION_PROMPT_LISTED = "HEADCOUNT_PERMISSION_PROMPT"
"""A variable: the client asks for permission through a tool of our MCP server."""
TOOLS_LISTED = "tools-listed"
"""A file in a client's directory: the client requested our MCP tools, and got the answer."""


def check_team_name(name: str) -> str:
    """`^[a-z0-9][a-z0-9-]{0,49}$`"""
    if 0 < len(name) <= TEAM_NAME_MAX and name[0] in TEAM_START and TEAM_REST.issuperset(name):
        return name
    raise UsageError(
        f"{show(name)} is not a team name",
        f"team_name must be 1 to {TEAM_NAME_MAX} of a-z, 0-9 and -, and start with a letter or digit",
        ('Use a name such as "pr-review"',),
        code="invalid-team-name",
    )


def check_member_name(name: str) -> str:
    """`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`, and not a word that is an address already."""
    if name.lower() in RESERVED:
        raise UsageError(
            f"{show(name)} cannot be a member's name",
            "it is an address of its own (" + ", ".join(sorted(RESERVED)) + ")",
            ('Use another name, such as "lead-dev"',),
            code="reserved-name",
        )
    if 0 < len(name) <= MEMBER_NAME_MAX and name[0] in _ALNUM and MEMBER_REST.issuperset(name):
        return name
    raise UsageError(
        f"{show(name)} is not a member name",
        f"name must be 1 to {MEMBER_NAME_MAX} of A-Z, a-z, 0-9, _ and -, and start with a letter or digit",
        ('Use a name such as "security_2"',),
        code="invalid-member-name",
    )


def check_size(field: str, text: str, limit: int, unit: str = "bytes") -> str:
    """A limit that is declared is enforced, with both numbers in the answer (E7)."""
    size = len(text) if unit == "characters" else len(text.encode("utf-8", "surrogatepass"))
    if size <= limit:
        return text
    raise UsageError(
        f"{field} is too long",
        f"it has {size:,} {unit}, the limit is {limit:,}",
        (f"Shorten {field}, or put the rest in a file and name the file",),
        code="too-long",
    )


def resolve_address(to: str, team: str) -> str:
    """The mailbox behind an address: `mayor/` and `<team>/witness` are the lead's and the witness's."""
    if to in ("mayor/", "mayor", f"{team}/lead"):
        return LEAD
    if to == f"{team}/witness":
        return WITNESS
    if to.startswith(f"{team}/"):
        return to[len(team) + 1 :]
    return to


def show(text: str, limit: int = 80) -> str:
    """A stranger's text, quoted for a message: one line, no control characters, not endless."""
    plain = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: limit + 1])
    return f'"{plain[:limit]}…"' if len(text) > limit else f'"{plain}"'
