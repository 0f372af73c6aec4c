"""headcount runs teams of coding agents and brings every one of them home.

The names of the definition language are here (`from headcount import Team, Teammate, …`) and are
imported when first used: a member's command pays nothing for them.
"""

from __future__ import annotations

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    from headcount.compiler import language

    if name == "__all__":
        return sorted(language.LANGUAGE)
    try:
        return getattr(language, name)
    except AttributeError:
        raise AttributeError(f"module 'headcount' has no attribute {name!r}") from None
