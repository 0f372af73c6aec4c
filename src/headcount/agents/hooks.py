"""What `headcount hook` and the clients that call it agree on."""

from __future__ import annotations

WAIT_S = 30.0
"""The longest that the hook itself waits for anything."""
LIMIT_S = int(2 * WAIT_S)
"""After so long a client may give it up: its start, and a busy store, take their time too."""
LISTED = "tools-listed"
"""The file in a client's directory that says: the client asked for our MCP tools, and was answered."""
