"""What a member of a run is told."""

from __future__ import annotations

from types import SimpleNamespace

from headcount.domain import task_prompts

TASK = SimpleNamespace(id="1", words="", base="main", state="working", commit="")


def test_a_workers_prompt_names_the_sync_command() -> None:
    about = {"subject": "Fix it", "prompt": "Fix the parser."}
    assert "bd sync" not in task_prompts.for_worker("", TASK, about)
    told = task_prompts.for_worker("", TASK, {**about, "sync": "bd sync"})
    assert "run `bd sync` until it succeeds, then run\n`headcount done`" in told
