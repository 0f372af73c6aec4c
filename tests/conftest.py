"""What every test counts on."""

from __future__ import annotations

import signal

# Whoever runs the tests in the background has Ctrl-C ignored, and so would all that they start: but several
# are about Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
