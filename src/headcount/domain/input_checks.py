"""Checks of what a caller gives, and the words of a refusal.

On the path of every member command: imports only names and errors.
"""

from __future__ import annotations

from headcount.domain.names import show
from headcount.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def check_choice(field: str, value: str, choices: tuple[str, ...]) -> None:
    if value in choices:
        return
    raise UsageError(
        f"{show(value)} is not a {field}", f"{field} is one of {', '.join(choices)}", code=f"unknown-{field}"
    )


def check_text(field: str, text: str) -> None:
    """Refuse text that arrived as bytes of an unknown encoding: it could not be returned whole."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{field} is not valid UTF-8", code="invalid-text") from None


def unknown(what: str, value: str, known: Iterable[str], why: str = "", effect: str = "") -> UsageError:
    """Return the error of a name that is not known. `effect` is what was not done because of it."""
    said = f"No {what} is called {show(value)}" + (f"; {effect}" if effect else "")
    return UsageError(said, why, did_you_mean(value, list(known)), code=f"unknown-{what}")


def did_you_mean(value: str, known: list[str]) -> tuple[str, ...]:
    import difflib  # only when something went wrong already

    close = difflib.get_close_matches(value, known, n=1)
    if close:
        return (f'Did you mean "{close[0]}"?',)
    shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
    return (f"Known are: {shown}",) if known else ()
