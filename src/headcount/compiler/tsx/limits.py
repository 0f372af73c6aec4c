"""What ends a reading, whatever is in the file. None of it is near what a definition needs: a team has at
most a thousand members and a thousand tasks."""

from __future__ import annotations

from typing import Final

# With a thousand members and a thousand tasks a file has 400 kB. Together with what follows, the limit keeps
# the slowest input within two seconds and 300 MB.
MAX_BYTES: Final = 500_000
# Each level takes up to four Python frames, of a thousand; definitions have a dozen levels.
MAX_DEPTH: Final = 150
MAX_ELEMENTS: Final = 20_000
MAX_ITEMS: Final = 20_000
MAX_CALLS: Final = 20_000
MAX_VALUES: Final = 100_000
MAX_CHARACTERS: Final = 2_000_000
# Nobody reads further, and a mistake in a large file's first lines may be in all of them.
MAX_DIAGNOSTICS: Final = 500
# After so many syntax errors the rest follows from the first ones.
MAX_SYNTAX_ERRORS: Final = 50
# A definition of a few hundred lines is smaller, and is parsed in any case within a quarter of a second.
LARGE: Final = 64_000
