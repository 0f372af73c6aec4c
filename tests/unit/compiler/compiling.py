"""Compile a definition that stands in a test, from either source, without a file."""

from __future__ import annotations

from textwrap import dedent

from headcount.app.definition_files import compile_file
from headcount.compiler.compile import Compiled
from headcount.compiler.dialects import TEAMMATE, Dialect

_PYTHON = "from headcount.compiler.language import *\n"
_TSX = """import {
  Agent, AgentType, Cleanup, Command, ExecutionContext, List, Markdown, Model, PluginAgentType, Prompt,
  ShutdownSequence, Skill, Table, TaskDef, TaskMode, TaskPipeline, Team, Teammate, Workflow, XmlBlock,
  createPipeline, defineTask, defineTeam, defineWorker,
} from 'react-agentic';
const A = defineWorker('a', AgentType.Explore);
const B = defineWorker('b', AgentType.Explore);
const C = defineTeam('crew', [A, B]);
"""


def python(source: str, dialect: Dialect = TEAMMATE) -> Compiled:
    return compile_file("team.py", dialect, (_PYTHON + dedent(source)).encode())


def tsx(body: str, before: str = "", dialect: Dialect = TEAMMATE) -> Compiled:
    """`body` stands in a Command; workers A and B and the team C are there."""
    root = f'export default (<Command name="x" description="y">{body}</Command>);\n'
    return compile_file("team.tsx", dialect, (_TSX + dedent(before) + root).encode())


def markdown(compiled: Compiled) -> str:
    """The body, without the frontmatter; the definition must have compiled without a word."""
    assert compiled.diagnostics == (), [found.render() for found in compiled.diagnostics]
    assert compiled.markdown is not None
    return compiled.markdown.partition("\n---\n\n")[2]


def messages(compiled: Compiled) -> list[str]:
    return [found.message for found in compiled.diagnostics]


def codes(compiled: Compiled) -> list[str]:
    return [found.code for found in compiled.diagnostics]
