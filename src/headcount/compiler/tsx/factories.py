"""`defineTask`, `defineTeam` and `createPipeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, TaskRef, TeamRef, WorkerRef
from headcount.compiler.names import task_name
from headcount.compiler.tsx.scope import MISSING
from headcount.compiler.tsx.values import Children, JsObject, describe, is_nullish

if TYPE_CHECKING:
    from headcount.compiler.tsx.calls import Call
    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.values import Evaluated


def define_task(call: Call) -> Evaluated:
    call.at_most(2, "defineTask")
    subject = call.text(0, "A task's subject")
    name = call.optional_text(1, "A task's name")
    if subject is UNKNOWN or name is UNKNOWN:
        return UNKNOWN
    return TaskRef(subject, task_name(subject) if name is None else name, call.uids.next())


def define_team(call: Call) -> Evaluated:
    call.at_most(2, "defineTeam")
    name = call.text(0, "A team's name")
    members = call.argument(1)
    if is_nullish(members):
        members = ()
    elif members is not UNKNOWN and type(members) not in (tuple, Children):
        what = f"A team's members are an array of workers, not {describe(members)}"
        members = call.refuse(1, what, "Write [a, b].")
    if name is UNKNOWN or members is UNKNOWN:
        return UNKNOWN
    for member in members:
        if not isinstance(member, WorkerRef) and member is not UNKNOWN:
            what = f"A team's members are workers, not {describe(member)}"
            call.refuse(1, what, "List what defineWorker() gave.")
    workers = tuple([member for member in members if isinstance(member, WorkerRef)])
    return TeamRef(name, workers, call.uids.next())


def create_pipeline(call: Call) -> Evaluated:
    call.at_most(1, "createPipeline")
    return PipelineBuilder(call.text(0, "A pipeline's title"))


class PipelineBuilder:
    """`createPipeline(title).task(…)….build()`. Each `.task` answers with a new one that points to the one
    before, so that a builder kept in a constant and used twice does not grow twice."""

    __slots__ = ("before", "stage", "title")

    def __init__(
        self, title: Evaluated, before: PipelineBuilder | None = None, stage: JsObject | None = None
    ) -> None:
        self.title = title
        self.before = before
        self.stage = stage

    def method(self, name: str, call: Call) -> Evaluated:
        if name == "task":
            return self._task(call)
        if name == "build":
            call.at_most(0, ".build")
            return self.build()
        return call.refuse(
            len(call.arguments), f"A pipeline has no method {name}", "Use .task(…) and .build()."
        )

    def _task(self, call: Call) -> Evaluated:
        call.at_most(3, ".task")
        prompt = call.argument(2)
        if not (is_nullish(prompt) or isinstance(prompt, str) or prompt is UNKNOWN):
            prompt = call.refuse(2, f"A task's prompt is a string, not {describe(prompt)}", "Write a string.")
        call.arguments = call.arguments[:2]
        task = define_task(call)
        blocked_by = (self.stage["task"],) if self.stage else ()
        stage = {"task": task, "prompt": prompt, "description": prompt, "blockedBy": blocked_by}
        return PipelineBuilder(self.title, self, JsObject(stage))

    def build(self) -> JsObject:
        stages: list[JsObject] = []
        builder: PipelineBuilder | None = self
        while builder is not None and builder.stage is not None:
            stages.append(builder.stage)
            builder = builder.before
        stages.reverse()
        tasks = {stage["task"].name: stage["task"] for stage in stages if stage["task"] is not UNKNOWN}
        return JsObject({"title": self.title, "tasks": JsObject(tasks), "stages": tuple(stages)})

    def exported(self, reader: Reader, name: str) -> Evaluated:
        """The members of what `.build()` gives, without it."""
        return self.build().get(name, MISSING)
