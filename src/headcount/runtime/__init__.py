"""Processes: starting members under a keeper, plain or in tmux, and the proof that a tree is empty."""

from headcount.ports import SpawnSpec
from headcount.runtime.mark import Mark, new_mark, parse_mark, state_id
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.process_runtime import Handle, ProcessRuntime, Shared
from headcount.runtime.processes import Process
from headcount.runtime.proof import BY_MARK_ONLY, BY_REBOOT, BY_SUBREAPER, Held, Proof, SeenProcess
from headcount.runtime.start_record import ExitStatus, Identity, Record
from headcount.runtime.tmux import TmuxRuntime

__all__ = [
    "BY_MARK_ONLY",
    "BY_REBOOT",
    "BY_SUBREAPER",
    "ExitStatus",
    "Handle",
    "Held",
    "Identity",
    "Mark",
    "PlainRuntime",
    "Process",
    "ProcessRuntime",
    "Proof",
    "Record",
    "SeenProcess",
    "Shared",
    "SpawnSpec",
    "TmuxRuntime",
    "new_mark",
    "parse_mark",
    "state_id",
]
