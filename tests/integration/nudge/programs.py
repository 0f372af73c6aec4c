"""Programs that are nudged in a terminal. Each writes every line that it was given to the file `heard`.

reader      reads lines, as the terminal edits them
sleeper     the same, after the file `wake` has appeared; till then it reads nothing and shows nothing
spinner     the same, but its screen changes all the time until `wake`; then there is a file `spinning`
editor      a line editor of its own on a raw terminal, with bracketed paste, as agents' clients have;
            Enter within a moment of a paste belongs to the paste
            it wraps at words, and kills a row at a time
thinker     the same, but something else on its screen changes all the time
deaf        shows nothing of what is typed, and reads none of it
hidden      reads lines and does not show them, as for a password
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty

_PASTE = ("\x1b[200~", "\x1b[201~")
_ENTER_AFTER_PASTE_S = 0.1
_KEYS = re.compile(r"\x1b\[\d*[A-Z~]|.", re.DOTALL)


def hear(line: str) -> None:
    with open("heard", "a") as file:
        file.write(line + "\n")


def reader() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        hear(line.rstrip("\n"))


def sleeper() -> None:
    print("ready", flush=True)
    while not os.path.exists("wake"):
        time.sleep(0.02)
    reader()


def spinner() -> None:
    print("ready", flush=True)
    turns = 0
    while not os.path.exists("wake"):
        turns += 1
        print(f"\r{'|/-'[turns % 3]} thinking {turns}", end="", flush=True)
        if turns == 1:
            open(f"{os.environ.get('HEADCOUNT_HOME', '.')}/spinning", "w").close()
        time.sleep(0.05)
    print("\r> ", end="", flush=True)
    reader()


def deaf() -> None:
    settings = termios.tcgetattr(0)
    settings[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSANOW, settings)
    print("ready", flush=True)
    while True:
        time.sleep(60)


def hidden() -> None:
    settings = termios.tcgetattr(0)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, settings)
    reader()


class Editor:
    """What is in the input box of a client, and how it shows that."""

    def __init__(self) -> None:
        self.text, self.at = "", 0
        self.top = 0  # rows from the first of the box to the cursor

    def rows(self) -> list[tuple[int, int]]:
        """From where to where each row shows the text; a blank or line break between two is not shown."""
        room, rows, begin = os.get_terminal_size().columns - 3, [], 0
        for line in self.text.split("\n"):
            end = begin + len(line)
            while end - begin > room:
                blank = self.text.rfind(" ", begin, begin + room + 1)
                cut = blank if blank > begin else begin + room
                rows.append((begin, cut))
                begin = cut + (cut == blank)
            rows.append((begin, end))
            begin = end + 1
        return rows

    def place(self) -> tuple[int, int]:
        """The row and column of the cursor."""
        rows = self.rows()
        row = max(n for n, (begin, _) in enumerate(rows) if begin <= self.at)
        return row, self.at - rows[row][0]

    def show(self) -> None:
        up = f"\x1b[{self.top}A" if self.top else ""
        rows = self.rows()
        lines = "\r\n".join(f"{'  ' if n else '> '}{self.text[b:e]}" for n, (b, e) in enumerate(rows))
        self.top, column = self.place()
        below = len(rows) - 1 - self.top
        back = f"\x1b[{below}A" if below else ""
        sys.stdout.write(f"\r{up}\x1b[J{lines}\r{back}\x1b[{column + 2}C")
        sys.stdout.flush()

    def press(self, key: str) -> None:
        line = self.text.rfind("\n", 0, self.at) + 1
        if key == "\x01":
            self.at = line
        elif key == "\x05":
            self.at = len(self.text[: self.at] + self.text[self.at :].partition("\n")[0])
        elif key == "\x1b[D":
            self.at = max(0, self.at - 1)
        elif key == "\x1b[C":
            self.at = min(len(self.text), self.at + 1)
        elif key == "\x7f":
            self._cut(max(0, self.at - 1))
        elif key == "\x15":  # the row that is shown; at its beginning, what is before that
            begin = self.rows()[self.place()[0]][0]
            self._cut(begin if begin < self.at else max(0, self.at - 1))
        elif key == "\n" or key.isprintable():
            self.text = self.text[: self.at] + key + self.text[self.at :]
            self.at += 1

    def _cut(self, begin: int) -> None:
        self.text, self.at = self.text[:begin] + self.text[self.at :], begin


def thinker() -> None:
    editor(thinks=True)


def think() -> None:
    """On the first row of the screen, until a key is pressed."""
    turns = 0
    while not select.select([0], [], [], 0.05)[0]:
        turns += 1
        sys.stdout.write(f"\x1b7\x1b[1;1H{'|/-'[turns % 3]} thinking {turns}\x1b8")
        sys.stdout.flush()


def editor(thinks: bool = False) -> None:
    tty.setraw(0)
    sys.stdout.write("ready\r\n\x1b[?2004h")
    box, pasting, pasted_at = Editor(), False, 0.0
    while True:
        box.show()
        if thinks:
            think()
        for key in _KEYS.findall(os.read(0, 4096).decode()):
            if key in _PASTE:
                pasting, pasted_at = key == _PASTE[0], time.monotonic()
            elif key == "\r" and (pasting or time.monotonic() - pasted_at < _ENTER_AFTER_PASTE_S):
                box.press("\n")
            elif key == "\r":
                hear(box.text.replace("\n", "\\n"))
                sys.stdout.write("\x1b[J\r\nthank you\r\n")
                box = Editor()
            else:
                box.press(key)
                pasted_at = pasted_at if pasting else 0.0


if __name__ == "__main__":
    programs = (reader, sleeper, spinner, editor, thinker, deaf, hidden)
    {program.__name__: program for program in programs}[sys.argv[1]]()
