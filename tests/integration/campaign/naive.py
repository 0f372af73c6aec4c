"""A stand-in for headcount that keeps no promise: the observer must notice.

    naive.py up FILE · naive.py down … · naive.py salvage list|verify

`up` makes a worktree for each worker and starts its command. `down` ends only the process that it started,
removes the worktrees and answers that all is well.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import types
from typing import Any

STATE = ".naive.json"


class Anything:
    def __init__(self, *words: object, **more: object) -> None:
        pass

    def __getitem__(self, key: object) -> Anything:
        return self


def read_workers(definition: str) -> dict[str, list[str]]:
    workers: dict[str, list[str]] = {}

    def define_worker(name: str, command: list[str]) -> str:
        workers[name] = command
        return name

    stub: Any = types.ModuleType("headcount")
    for name in ("Command", "ShutdownSequence", "TaskDef", "TaskPipeline", "Team", "Teammate", "Workflow"):
        setattr(stub, name, Anything)
    stub.define_task = stub.define_team = Anything
    stub.define_worker = define_worker
    sys.modules["headcount"] = stub
    with open(definition) as file:
        exec(file.read(), {})
    return workers


def up(definition: str) -> None:
    state = {}
    for name, command in read_workers(definition).items():
        place = os.path.abspath(f".headcount/worktrees/crew/{name}")
        subprocess.run(["git", "worktree", "add", "-q", "-b", f"headcount/crew/{name}", place], check=True)
        nothing = subprocess.DEVNULL
        agent = subprocess.Popen(
            command, cwd=place, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        state[name] = {"pid": agent.pid, "place": place}
    with open(f".headcount/{STATE}", "w") as file:
        json.dump(state, file)


def down() -> None:
    with open(f".headcount/{STATE}") as file:
        state = json.load(file)
    for member in state.values():
        os.kill(member["pid"], signal.SIGKILL)
        subprocess.run(["git", "worktree", "remove", "--force", "--force", member["place"]], check=True)
    print(
        json.dumps({"teamId": "crew#1", "status": "shutdown", "deleted": True, "members": [], "warnings": []})
    )


if __name__ == "__main__":
    if sys.argv[1] == "up":
        up(sys.argv[2])
    elif sys.argv[1] == "down":
        down()
    else:
        print("[]")
