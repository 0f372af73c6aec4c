"""Programs that are nudged in a terminal. Each writes every line that it was given to the file `heard`.

reader      reads lines, as the terminal edits them
sleeper     the same, after the file `wake` has appeared; till then it reads nothing and shows nothing
spinner     the same, but its screen changes all the time until `wake`
editor      a line editor of its own on a raw terminal, with bracketed paste, as agents' clients have;
            Enter within a moment of a paste belongs to the paste
deaf        shows nothing of what is typed, and reads none of it
"""

from __future__ import annotations

import os
import sys
import termios
import time
import tty

_PASTE = ("\x1b[200~", "\x1b[201~")
_ENTER_AFTER_PASTE_S = 0.1


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


def editor() -> None:
    tty.setraw(0)
    sys.stdout.write("ready\r\n\x1b[?2004h")
    line, pasting, pasted_at = "", False, 0.0
    while True:
        shown = line.replace("\n", "\r\n  ")
        sys.stdout.write(f"\r\x1b[2K> {shown}")
        sys.stdout.flush()
        typed = os.read(0, 4096).decode()
        while typed:
            if typed.startswith(_PASTE[0]):
                pasting, typed = True, typed[len(_PASTE[0]) :]
            elif typed.startswith(_PASTE[1]):
                pasting, pasted_at, typed = False, time.monotonic(), typed[len(_PASTE[1]) :]
            else:
                key, typed = typed[0], typed[1:]
                if key == "\x15":
                    line = ""
                elif key == "\r" and (pasting or time.monotonic() - pasted_at < _ENTER_AFTER_PASTE_S):
                    line += "\n"
                elif key == "\r":
                    hear(line.replace("\n", "\\n"))
                    sys.stdout.write("\r\nthank you\r\n")
                    line = ""
                elif key == "\x03":
                    return
                elif key.isprintable():
                    line += key
                    pasted_at = 0.0


if __name__ == "__main__":
    {"reader": reader, "sleeper": sleeper, "spinner": spinner, "editor": editor, "deaf": deaf}[sys.argv[1]]()
