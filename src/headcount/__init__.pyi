"""The definition language as type checkers and editors see it; a test keeps it equal to what is accepted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from headcount.compiler.element import TaskRef, TeamRef, WorkerRef

__version__: str

Child: TypeAlias = str | int | float | bool | Node | Component | Iterable[Child] | None
Flag: TypeAlias = bool | str

class Node:
    def __getitem__(self, children: Child | tuple[Child, ...]) -> Node: ...

class Component:
    def __getitem__(self, children: Child | tuple[Child, ...]) -> Node: ...

class _Plain(Component):
    def __call__(self, *, key: str = ...) -> Node: ...

class _Root(Component):
    def __call__(self, *, name: str, description: str, **frontmatter: Any) -> Node: ...

class _Workflow(Component):
    def __call__(
        self,
        *,
        name: str,
        team: TeamRef,
        description: str | None = ...,
        verify: str | None = ...,
        max_total_lines: int | None = ...,
        tasks_at_once: int | None = ...,
        key: str = ...,
    ) -> Node: ...

class _Team(Component):
    def __call__(self, *, team: TeamRef, description: str | None = ..., key: str = ...) -> Node: ...

class _Teammate(Component):
    def __call__(
        self,
        *,
        worker: WorkerRef,
        description: str,
        prompt: str | None = ...,
        model: str | None = ...,
        mode: str | None = ...,
        background: Flag | None = ...,
        key: str = ...,
    ) -> Node: ...

class _Prompt(Component):
    def __call__(self, *, vars: Mapping[str, str] | None = ..., key: str = ...) -> Node: ...

class _TaskDef(Component):
    def __call__(
        self,
        *,
        task: TaskRef,
        prompt: str | None = ...,
        active_form: str | None = ...,
        blocked_by: Sequence[TaskRef] | None = ...,
        worker: WorkerRef | None = ...,
        model: str | None = ...,
        metadata: Mapping[str, Any] | None = ...,
        key: str = ...,
    ) -> Node: ...

class _TaskPipeline(Component):
    def __call__(self, *, title: str | None = ..., auto_chain: Flag | None = ..., key: str = ...) -> Node: ...

class _ShutdownSequence(Component):
    def __call__(
        self,
        *,
        workers: Sequence[WorkerRef],
        reason: str | None = ...,
        cleanup: Flag | None = ...,
        team: TeamRef | None = ...,
        title: str | None = ...,
        key: str = ...,
    ) -> Node: ...

class _Cleanup(Component):
    def __call__(self, *, team: TeamRef | None = ..., title: str | None = ..., key: str = ...) -> Node: ...

class _XmlBlock(Component):
    def __call__(self, *, name: str, key: str = ..., **attributes: str) -> Node: ...

class _Div(Component):
    def __call__(self, *, name: str | None = ..., key: str = ..., **attributes: str) -> Node: ...

class _StatusReturn(Component):
    def __call__(self, *, status: str, key: str = ...) -> Node: ...

class _SuccessCriteria(Component):
    def __call__(self, *, items: Sequence[str | Mapping[str, str | bool]], key: str = ...) -> Node: ...

class _OfferNext(Component):
    def __call__(self, *, routes: Sequence[Mapping[str, str]], key: str = ...) -> Node: ...

class _Step(Component):
    def __call__(
        self, *, number: str | float, name: str, variant: str | None = ..., key: str = ...
    ) -> Node: ...

class _StepSection(Component):
    def __call__(
        self,
        *,
        number: str | float,
        name: str,
        variant: str | None = ...,
        description: str | None = ...,
        key: str = ...,
    ) -> Node: ...

class _DataTable(Component):
    def __call__(
        self,
        *,
        rows: Sequence[Sequence[Child]],
        headers: Sequence[Child] | None = ...,
        align: Sequence[str] | None = ...,
        empty_cell: str | None = ...,
        caption: str | None = ...,
        empty_message: str | None = ...,
        key: str = ...,
    ) -> Node: ...

class _BulletList(Component):
    def __call__(self, *, items: Sequence[Child], title: str | None = ..., key: str = ...) -> Node: ...

class _FileContext(Component):
    def __call__(
        self,
        *,
        files: Sequence[str],
        prefix: str | None = ...,
        title: str | None = ...,
        key: str = ...,
    ) -> Node: ...

class _Table(Component):
    def __call__(
        self,
        *,
        rows: Sequence[Sequence[Child]],
        headers: Sequence[Child] | None = ...,
        align: Sequence[str] | None = ...,
        empty_cell: str | None = ...,
        key: str = ...,
    ) -> Node: ...

class _List(Component):
    def __call__(
        self,
        *,
        items: Sequence[Child],
        ordered: Flag | None = ...,
        start: int | None = ...,
        key: str = ...,
    ) -> Node: ...

class _ExecutionContext(Component):
    def __call__(self, *, paths: Sequence[str], prefix: str | None = ..., key: str = ...) -> Node: ...

class _Code(Component):
    def __call__(self, *, lang: str | None = ..., class_name: str | None = ..., key: str = ...) -> Node: ...

class _Ordered(Component):
    def __call__(self, *, start: int | None = ..., key: str = ...) -> Node: ...

class _Link(Component):
    def __call__(self, *, href: str, key: str = ...) -> Node: ...

Command: _Root
Agent: _Root
Skill: _Root
Workflow: _Workflow
Team: _Team
Teammate: _Teammate
Prompt: _Prompt
TaskDef: _TaskDef
TaskPipeline: _TaskPipeline
ShutdownSequence: _ShutdownSequence
Cleanup: _Cleanup
XmlBlock: _XmlBlock
Table: _Table
List: _List
ExecutionContext: _ExecutionContext
Markdown: _Plain
XmlSection: _XmlBlock
Role: _Plain
UpstreamInput: _Plain
DownstreamConsumer: _Plain
Methodology: _Plain
DeviationRules: _Plain
CommitRules: _Plain
WaveExecution: _Plain
CheckpointHandling: _Plain
StructuredReturns: _Plain
StatusReturn: _StatusReturn
SuccessCriteria: _SuccessCriteria
OfferNext: _OfferNext
Step: _Step
StepSection: _StepSection
DataTable: _DataTable
BulletList: _BulletList
FileContext: _FileContext
div: _Div
h1: _Plain
h2: _Plain
h3: _Plain
h4: _Plain
h5: _Plain
h6: _Plain
p: _Plain
ul: _Plain
ol: _Ordered
li: _Plain
blockquote: _Plain
code: _Code
pre: _Code
a: _Link
b: _Plain
strong: _Plain
i: _Plain
em: _Plain
hr: _Plain
br: _Plain

class AgentType:
    Bash: ClassVar[str]
    Explore: ClassVar[str]
    Plan: ClassVar[str]
    GeneralPurpose: ClassVar[str]

class PluginAgentType:
    SecuritySentinel: ClassVar[str]
    PerformanceOracle: ClassVar[str]
    ArchitectureStrategist: ClassVar[str]
    BestPracticesResearcher: ClassVar[str]

class Model:
    Haiku: ClassVar[str]
    Sonnet: ClassVar[str]
    Opus: ClassVar[str]

class TaskMode:
    Plan: ClassVar[str]

class Stage:
    task: TaskRef
    prompt: str | None
    blocked_by: tuple[TaskRef, ...]

class BuiltPipeline:
    title: str
    tasks: tuple[TaskRef, ...]
    stages: tuple[Stage, ...]

class PipelineBuilder:
    def task(self, subject: str, name: str | None = ..., prompt: str | None = ...) -> PipelineBuilder: ...
    def build(self) -> BuiltPipeline: ...

def define_task(subject: str, name: str | None = ...) -> TaskRef: ...
def define_worker(
    name: str,
    type: str | Node | None = ...,
    model: str | None = ...,
    *,
    agent: str | None = ...,
    command: Sequence[str] | None = ...,
    role: str = ...,
    workspace: str | None = ...,
    finalizers: Sequence[Sequence[str]] = ...,
    setup: str | None = ...,
    copy: Sequence[str] | None = ...,
) -> WorkerRef: ...
def define_team(
    name: str,
    members: Sequence[WorkerRef] = ...,
    *,
    setup: str | None = ...,
    copy: Sequence[str] | None = ...,
) -> TeamRef: ...
def create_pipeline(title: str) -> PipelineBuilder: ...
