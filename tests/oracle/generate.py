"""Definitions made from a seed, and mutations of them; every text in them is a word of its own.

A generated definition is valid and has its words in places that reach the Markdown. A mutation changes a few
tokens: what comes out may be valid or not, and TypeScript decides which.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Final

HEAD: Final = (
    "import { AgentType, Command, Model, Prompt, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate,"
    " Workflow, XmlBlock, createPipeline, defineTask, defineTeam, defineWorker } from 'headcount';\n"
)
_token: Final = re.compile(r"\w+|\s+|=>|\.\.\.|\?\?|\?\.|&&|\|\||</|/>|\$\{|[^\w\s]")
_INSERTS: Final = [
    *"()[]{}<>,;:.?=!'\"`&", "</", "/>", "...", "?.", "??", "||", "&&", "=>", "==", "===", "${", "<!--",
    "-->", "//", "/*", "*/", "&amp;", "const", "let", "class", "return", "await", "yield", "new", "in", "as",
    "1", "010", "1_", "0x", "'\\07'", "\\u0061", "é", "T", "<T>", "<p>", "</p>", "<p/>", "{}", "{1,2}", "\n",
]  # fmt: skip

_AROUND: Final = Path(__file__).with_name("around.tsx").read_text().splitlines(keepends=True)[1:]


class Maker:
    """One definition from one seed; `words` are the texts that the Markdown must have."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.words: list[str] = []
        self.constants: list[str] = []

    def word(self) -> str:
        word = f"w{len(self.words)}{''.join(self.chance.choices('abcdefgh', k=3))}"
        self.words.append(word)
        return word

    def definition(self) -> str:
        workers = [f"W{n}" for n in range(self.chance.randint(1, 3))]
        lines = [HEAD]
        for worker in workers:
            model = self.chance.choice(["", ", Model.Opus", ", 'haiku'", ", Model['Haiku'] as any"])
            lines.append(f"const {worker} = defineWorker({self.literal()}, AgentType.Explore{model});\n")
        lines.append(f"const crew = defineTeam({self.literal()}, [{', '.join(workers)}]);\n")
        for n in range(self.chance.randint(0, 2)):
            self.constants.append(f"C{n}")
            lines.append(f"const C{n} = {self.text_value()};\n")
        if self.chance.random() < 0.5:
            lines.append("const Note = ({ children, tone = 'plain' }: any) => <p>{children}</p>;\n")
            self.constants.append("<Note>")
        lines += self.chance.sample(_AROUND, self.chance.randint(0, 2))
        body = "\n".join([self.team(workers), *(self.block() for _ in range(self.chance.randint(0, 4)))])
        body += self.shutdown(workers) if self.chance.random() < 0.7 else ""
        used = "".join(f"<p>{{{name}}}</p>" for name in self.constants if not name.startswith("<"))
        name, about = self.literal('"'), self.literal('"')
        inside = f"<Command name={name} description={about}>\n{body}\n{used}\n  </Command>"
        lines.append(f"export default (\n  {inside}\n);\n")
        return "".join(lines)

    def literal(self, quote: str = "") -> str:
        quote = quote or self.chance.choice("'\"")
        return f"{quote}{self.word()}{quote}"

    def text_value(self) -> str:
        match self.chance.randrange(6):
            case 0:
                return f"`{self.word()} ${{'{self.word()}'}}`"
            case 1:
                return f"'{self.word()}' + {self.literal()}"
            case 2:
                return f"[{self.literal()}, {self.literal()}].join(', ')"
            case 3:
                return f"(true ? {self.literal()} : null) as string"
            case 4:
                return f"({{ a: {self.literal()} }}).a"
            case _:
                return self.literal()

    def team(self, workers: list[str]) -> str:
        members = "\n".join(
            f"<Teammate worker={{{worker}}} description={self.literal(chr(34))} {self.prompt()}"
            for worker in workers
        )
        return f"<Team team={{crew}} description={{{self.text_value()}}}>\n{members}\n</Team>"

    def prompt(self) -> str:
        if self.chance.random() < 0.5:
            return f"prompt={{{self.text_value()}}} />"
        return f"><Prompt>\n  {self.word()} {self.word()}\n  <p>{self.word()}</p></Prompt></Teammate>"

    def shutdown(self, workers: list[str]) -> str:
        return f"\n<ShutdownSequence workers={{[{', '.join(workers)}]}} reason={self.literal(chr(34))} />"

    def block(self) -> str:
        match self.chance.randrange(8):
            case 0:
                return f"<h2>{self.word()} &amp; {self.word()}</h2>"
            case 1:
                return f"<ul><li>{self.word()}</li><li>{{{self.text_value()}}}</li></ul>"
            case 2:
                return f'<XmlBlock name="rules">{self.word()} <b>{self.word()}</b> R&D</XmlBlock>'
            case 3:
                return f"{{[{self.literal()}, {self.literal()}].map((each, n) => <p key={{n}}>{{each}}</p>)}}"
            case 4:
                return f"{{/* not a word */}}<p>{self.word()}</p>"
            case 5:
                return f"<>{self.word()}\n<p>{self.word()}</p></>"
            case 6 if "<Note>" in self.constants:
                return f"<Note>{self.word()}</Note>"
            case _:
                return f"<p>{self.word()} {{{self.text_value()}}} {self.word()}</p>"


def mutate(source: str, seed: int) -> str:
    """The source with one to three tokens dropped, doubled, swapped, replaced or inserted."""
    chance = random.Random(seed)
    tokens = _token.findall(source)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(tokens))
        match chance.randrange(5):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                other = chance.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = chance.choice(_INSERTS)
            case _:
                tokens.insert(at, chance.choice(_INSERTS))
    return "".join(tokens)
