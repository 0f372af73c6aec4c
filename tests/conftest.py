"""What every test counts on."""

from __future__ import annotations

import signal

# Whoever runs the tests in the background, or with nohup, has some signals ignored, and so would all that
# they start: but several tests are about those.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGQUIT, signal.SIGHUP):
    signal.signal(_number, signal.SIG_DFL)
