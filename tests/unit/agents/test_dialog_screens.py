"""Dialogs of the pinned clients, as they were seen on their screens; and what must not be taken for one."""

from __future__ import annotations

import re

import pytest

from headcount.agents.host.screen_dialogs import find_question
from headcount.agents.registry import CLIENTS

RULE = "─" * 60
ASKED = "Do you want to proceed?\n 1. Yes\n 2. No"

CLAUDE = f"""\
❯ Work a little.

● Scripted
  ⎿  $ touch /var/tmp/x

{RULE}
 Bash command
 scripted
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 touch /var/tmp/x
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 Do you want to proceed?
   1. Yes
 ❯ 2. Yes, and always allow access to /var/tmp from this project
   3. No

 Esc to cancel · Tab to amend"""
CLAUDE_FORM = f"❯ /login\n{RULE}\n Login\n Paste code here if prompted >\n\n Esc to cancel"
CLAUDE_PROMPT = (
    f"❯ 1. Write a.txt\n  2. Commit\n\n● {ASKED}\n Esc to cancel\n{RULE} ann ──\n❯ \n{RULE}\n  ⏵⏵ on"
)
# It waits for the end of a limit by itself, and can be typed to.
CLAUDE_LIMIT = f"""\
● Usage limit reached · continuing automatically at 10:54am · esc to cancel
{RULE}
❯
{RULE}
  ⚠ Usage limit reached · limit resets 10:54am
    Continuing shortly · Esc to cancel
  ⏵⏵ bypass permissions on (shift+tab to cycle)"""
CODEX = """\
› Work a little.

• Done.

  Update Model Permissions
  1. Ask for approval       Read and edit workspace files
  2. Approve for me         Only ask for actions detected as potentially unsafe
› 3. Full Access (current)  Use with caution

  enter select · esc back"""
CODEX_PROMPT = f"› 1. Write a.txt\n\n• {ASKED}\n\n› Ask Codex to do anything\n\n  stand-in default · /w"
GEMINI = """\
 > /auth
╭──────────────────────────────────────────────────╮
│ ? Get started                                    │
│                                                  │
│   How would you like to authenticate?            │
│                                                  │
│     1. Sign in with Google                       │
│   ● 2. Use Gemini API Key                        │
│                                                  │
│   (Use Enter to select)                          │
╰──────────────────────────────────────────────────╯"""
GEMINI_LIMIT = "│ Usage limit reached for all Pro models. │\n│ ● 1. Keep trying │\n│   2. Stop │"
GEMINI_PROMPT = f" > Work.\n✦ {ASKED}\n│ ● 1. a cell │\n YOLO Ctrl+Y\n *   Type your message or @path/to/file"
OPENCODE = """\
  ┃  Work a little.                                              Context
     % WebFetch http://127.0.0.1:9/x
  ┃
  ┃  △ Permission required                                       0 tokens
  ┃    % WebFetch http://127.0.0.1:9/x
  ┃
  ┃   Allow once   Allow always   Reject            ctrl+f fullscreen  ⇆ select  enter confirm"""
OPENCODE_LIST = f"""\
{" " * 40}Select model                                     esc
{" " * 40}Search
{" " * 40}● stand-in
  ┃  Build · stand-in standin
   /w                                                110  ctrl+p commands"""
OPENCODE_PROMPT = f"  ┃  △ {ASKED}\n  ┃  enter confirm\n   esc interrupt      110  ctrl+p commands"


@pytest.mark.parametrize(
    ("client", "shown", "question"),
    [
        ("claude", CLAUDE, "Do you want to proceed?"),
        ("claude", CLAUDE_FORM, "Esc to cancel"),
        ("codex", CODEX, "Update Model Permissions"),
        ("gemini", GEMINI, "How would you like to authenticate?"),
        ("opencode", OPENCODE, "△ Permission required"),
        ("opencode", OPENCODE_LIST, "Select model"),
    ],
)
def test_a_dialog_is_known_by_its_shape_and_named_by_its_question(
    client: str, shown: str, question: str
) -> None:
    assert find_question(re.compile(CLIENTS[client].screen.asks, re.MULTILINE), shown).startswith(question)


@pytest.mark.parametrize(
    ("client", "shown"),
    [
        ("claude", CLAUDE_PROMPT),
        ("claude", CLAUDE_LIMIT),
        ("codex", CODEX_PROMPT),
        ("codex", CODEX_PROMPT.replace("› Ask Codex to do anything", "›")),
        ("gemini", GEMINI_PROMPT),
        ("gemini", GEMINI_PROMPT.replace(" *   Type your message or @path/to/file", " >")),
        ("opencode", OPENCODE_PROMPT),
    ],
)
def test_the_words_of_a_dialog_above_a_prompt_are_the_models(client: str, shown: str) -> None:
    screen = CLIENTS[client].screen
    assert find_question(re.compile(screen.asks, re.MULTILINE), shown) == ""
    assert re.search(screen.hold, shown, re.MULTILINE) is None


def test_a_dialog_about_a_limit_is_none_of_a_persons_but_nothing_is_typed_there() -> None:
    screen = CLIENTS["gemini"].screen
    assert find_question(re.compile(screen.asks, re.MULTILINE), GEMINI_LIMIT) == ""
    assert re.search(screen.hold, GEMINI_LIMIT, re.MULTILINE)
