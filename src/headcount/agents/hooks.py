"""How long a call of `headcount hook` may take: one number follows from the other, so they cannot drift."""

from __future__ import annotations

WAIT_S = 30.0
"""The longest that the hook itself waits for anything."""
LIMIT_S = int(2 * WAIT_S)
"""After so long a client may give it up: its start, and a busy store, take their time too."""
