"""Every code of a diagnostic that lowering, building and the Python reader give, and what it means.

Programs match on codes; `headcount explain CODE` prints these.
"""

from __future__ import annotations

from typing import Final

CODES: Final = {
    "client-name": "A team's or worker's name that no client's own tools accept. The Markdown is written; "
    "`headcount run` refuses the name. Use letters, digits, - and _, at most 64.",
    "dependency-cycle": "Tasks that wait for each other can never start. Remove one of the dependencies.",
    "duplicate-task": "A task has one id in the document, so it can have one TaskDef only.",
    "duplicate-worker": "Clients tell members apart by name: two with one name in a team, or one asked twice "
    "to shut down, is a mistake.",
    "file-name": "In Claude Code's layout the file is named by the definition, whose name cannot be one.",
    "misplaced": "A component or element stands where it cannot be.",
    "missing-prop": "A component lacks a prop that it needs.",
    "never-shut-down": "A worker is spawned in a Workflow, and no ShutdownSequence in it asks for its stop.",
    "never-spawned": "A ShutdownSequence asks a worker to stop that no Team of the same Workflow spawns.",
    "no-root": "A definition has exactly one root: a Command, an Agent or a Skill.",
    "pipeline-empty": "A TaskPipeline without a TaskDef does nothing.",
    "prompt-missing": "A Teammate or TaskDef has neither a prompt nor a Prompt with something in it.",
    "prompt-outside": "A Prompt belongs to the Teammate or TaskDef that it instructs.",
    "prompt-twice": "There are two prompts, and only one can be meant.",
    "python-error": "The Python definition raised an error while it ran.",
    "same-output": "Two sources would be written to the same file; neither is.",
    "syntax": "The source does not parse.",
    "table-width": "A row of a Table has more cells than there are headers; a renderer would drop them.",
    "team-empty": "A Team without a Teammate has nobody in it.",
    "teammate-outside-team": "A Teammate takes its team from the Team around it.",
    "too-deep": "The definition nests more deeply than can be followed.",
    "unknown-dependency": "A task is blocked by one that the document never creates.",
    "unknown-element": "No component or HTML element of the language has this name.",
    "unknown-enum-member": "The enum has no such member.",
    "unknown-prop": "The component has no such prop.",
    "unreadable": "The definition could not be read from disk.",
    "unwritable": "The output could not be written to disk.",
    "vars-unfilled": "A Prompt with vars has a {{name}} in its text that vars does not have.",
    "vars-unused": "A Prompt's vars has a name that its text does not use.",
    "workers-empty": "A ShutdownSequence asks nobody. For the cleanup call alone there is Cleanup.",
    "workflow-team": "A Workflow and the Team in it are about different teams.",
    "workflow-teams": "A Workflow is about one team; several teams stand in several Workflows.",
    "wrong-call": "A name of the Python language was called with arguments that it does not take.",
    "wrong-child": "A component has a child that it does not accept.",
    "wrong-type": "A prop's value has the wrong type.",
}
