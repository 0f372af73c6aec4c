"""Texts for people are plain English, as far as a program can check it (`plain_english.py`)."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

import pytest

from headcount.cli import COMMANDS
from headcount.cli.member.command_table import COMMANDS as OF_MEMBERS

from .pages import PAGES, ROOT
from .plain_english import docstring_sentences, page_sentences, problems, sentences
from .scripts import load_script

SOURCE = ROOT / "src/headcount"
# Checked by others, or word for word from the requirements.
NOT_CHECKED_PAGES = {ROOT / "docs/architecture.md", ROOT / "docs/reference/statements.md"}
# Packages whose docstrings are not plain yet. Take a package off this list when it is.
NOT_YET_CHECKED = {"compiler", "workspace"}
CHECKED = sorted(
    module for module in SOURCE.rglob("*.py") if module.relative_to(SOURCE).parts[0] not in NOT_YET_CHECKED
)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in NOT_CHECKED_PAGES], ids=lambda page: page.name
)
def test_a_page_is_plain_english(page: Path) -> None:
    found = [(sentence, wrong) for sentence in page_sentences(page) if (wrong := problems(sentence))]
    assert not found, "\n".join(f"{page.name}: {wrong}: {sentence}" for sentence, wrong in found)


def test_explanations_of_errors_are_plain_english() -> None:
    texts = tomllib.loads((SOURCE / "app/errors.toml").read_text(encoding="utf-8"))
    found = [
        (code, sentence, wrong)
        for code, fields in texts.items()
        for key in ("what", "why", "do")
        for sentence in sentences(fields[key])
        if (wrong := problems(sentence))
    ]
    assert not found


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_is_plain_english(name: str) -> None:
    parser = load_script("write_commands.py").parser_of(name)
    for text in _help_texts(parser):
        for sentence in sentences(text):
            assert not problems(sentence), f"headcount {name}: {sentence}"


def _help_texts(parser: argparse.ArgumentParser) -> list[str]:
    texts = [parser.description or "", parser.epilog or ""]
    for action in parser._actions:
        texts.append(str(action.help or ""))
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                texts += _help_texts(verb)
    return texts


def test_help_of_the_members_commands_is_plain_english() -> None:
    for spec, _ in OF_MEMBERS.values():
        for sentence in sentences(spec.lines):
            assert not problems(sentence), sentence


@pytest.mark.parametrize("module", CHECKED, ids=lambda path: str(path.relative_to(SOURCE)))
def test_docstrings_of_a_module_are_plain_english(module: Path) -> None:
    found = [
        f"{module.name}:{line}: {wrong}: {sentence}"
        for line, sentence in docstring_sentences(module)
        if (wrong := problems(sentence))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "sentence",
    [
        "What is dirty is sent back.",
        "Whoever waits starts it.",
        "That it goes on is told.",
        "Nobody drives the team, and it goes on by itself.",
        "This is no decision.",
        "Mend what the notes say.",
        "The member and the lead and the witness and the operator and the engine and the keeper and the "
        "server and the store and the page and the report and the journal are all in this one sentence.",
    ],
)
def test_the_checker_finds_a_sentence_that_must_be_read_twice(sentence: str) -> None:
    assert problems(sentence)


def test_the_checker_accepts_plain_sentences() -> None:
    text = "There is no team here. The member is no longer needed. headcount inspects it, and saves it."
    assert [problems(sentence) for sentence in sentences(text)] == [[], [], []]
