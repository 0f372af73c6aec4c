"""Record a real `headcount demo` as an animated picture: `python scripts/record_demo.py`.

The commands run in a terminal of their own, in a scratch directory. Each line appears when it was printed.
The picture needs no script: two animations in steps move the text and uncover its lines.
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs/pictures/demo.svg"
COMMANDS = ("headcount demo --dir demo", "cd demo && headcount report demo")
COLUMNS, ROWS = 112, 30
_LINE, _LETTER, _TOP, _LEFT = 18.0, 7.83, 44.0, 16.0
_DOTS = "".join(f'<circle class="dot" cx="{x}" cy="14" r="5"/>' for x in (18, 36, 54))
_STYLE = """\
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, monospace; white-space: pre; fill: #d7dde4; }
.prompt { fill: #7fd1a0; font-weight: bold; }
.good { fill: #8fd8ff; font-weight: bold; }
.warn { fill: #f0c674; }
.ground { fill: #14181d; } .bar { fill: #20262d; } .dot { fill: #46505b; }"""
_TYPED_S, _BETWEEN_S, _HOLD_S = 1.2, 1.0, 7.0
_ORDERS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_STYLES = (
    (re.compile(r"\$ "), "prompt"),
    (re.compile(r"No agent is left|No work is lost|\d+ agents, "), "good"),
    (re.compile(r".* (sent back|did not answer|escalated|did not stop)"), "warn"),
)


class Line(NamedTuple):
    at: float
    text: str


def record(commands: tuple[str, ...]) -> list[Line]:
    """Run the commands in one shell each, and return what a reader sees, with the seconds since the start."""
    lines: list[Line] = []
    now = 0.0
    with tempfile.TemporaryDirectory() as home:
        env = {
            **{name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": home,
            "TERM": "xterm",
            "NO_COLOR": "1",
            "COLUMNS": str(COLUMNS),
        }
        for command in commands:
            lines.append(Line(now + _TYPED_S, f"$ {command}"))
            now += _TYPED_S
            printed = _run(command, home, env)
            lines += [Line(now + line.at, line.text.replace(home, "~")) for line in printed]
            now = lines[-1].at + _BETWEEN_S
    return lines


def _run(command: str, home: str, env: dict[str, str]) -> list[Line]:
    ours, theirs = pty.openpty()
    began, text, lines = time.monotonic(), "", []
    process = subprocess.Popen(["bash", "-c", command], cwd=home, env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    while _is_more(ours):
        try:
            text += os.read(ours, 65536).decode("utf-8", "replace")
        except OSError:  # the terminal is closed, and everything was read
            break
        *whole, text = text.split("\n")
        lines += [Line(time.monotonic() - began, _ORDERS.sub("", line)) for line in whole]
    os.close(ours)
    if process.wait() != 0:
        raise SystemExit(f"{command} ended with code {process.returncode}")
    return lines


def _is_more(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 120.0)[0])


def draw(lines: list[Line]) -> str:
    whole_s = lines[-1].at + _HOLD_S
    width = round(_LEFT * 2 + COLUMNS * _LETTER)
    height = round(_TOP + ROWS * _LINE + 14)
    text = "\n".join(
        f'<text y="{(number + 1) * _LINE:.0f}"{_style(line.text)}>{escape(line.text[:COLUMNS])}</text>'
        for number, line in enumerate(lines)
        if line.text.strip()
    )
    last = max(len(lines) - ROWS, 0)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="t d">
<title id="t">headcount demo in a terminal</title>
<desc id="d">Agents work, one hangs. headcount asks, inspects, saves, stops and proves.</desc>
<style>
{_STYLE}
#scroll, #cover {{ animation: {whole_s:.1f}s step-end infinite; }}
#scroll {{ transform: translateY({-last * _LINE:.0f}px); animation-name: scroll; }}
#cover {{ transform: translateY({len(lines) * _LINE:.0f}px); animation-name: cover; }}
@keyframes scroll {{ {_steps(lines, whole_s, lambda shown: -max(shown - ROWS, 0))} }}
@keyframes cover {{ {_steps(lines, whole_s, lambda shown: shown)} }}
@media (prefers-reduced-motion: reduce) {{ #scroll, #cover {{ animation: none; }} }}
</style>
<clipPath id="window"><rect x="0" y="{_TOP - 6:.0f}" width="{width}" height="{height - _TOP:.0f}"/></clipPath>
<rect class="ground" width="{width}" height="{height}" rx="8"/>
<path class="bar" d="M0 8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V28H0z"/>
{_DOTS}
<g clip-path="url(#window)"><g transform="translate({_LEFT:.0f} {_TOP - 10:.0f})"><g id="scroll">
{text}
<rect id="cover" class="ground" x="-10" y="4" width="{width}" height="{len(lines) * _LINE:.0f}"/>
</g></g></g>
</svg>
"""


def _style(text: str) -> str:
    style = next((name for pattern, name in _STYLES if pattern.match(text)), None)
    return f' class="{style}"' if style else ""


def _steps(lines: list[Line], whole_s: float, place: Callable[[int], int]) -> str:
    """Keyframes: at the moment of each line, so many lines are shown."""
    frames = {0.0: 0}
    for number, line in enumerate(lines):
        frames[round(line.at / whole_s * 100, 2)] = number + 1
    moves = [
        f"{at}% {{ transform: translateY({place(shown) * _LINE:.0f}px); }}" for at, shown in frames.items()
    ]
    return " ".join(moves)


if __name__ == "__main__":
    PICTURE.write_text(draw(record(COMMANDS)))
    print(f"Wrote {PICTURE}, {PICTURE.stat().st_size:,} bytes.")
