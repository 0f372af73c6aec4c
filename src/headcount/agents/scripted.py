"""Our own agent, for the demo and for tests: a real process that does what a small file says.

    python -m headcount.agents.scripted FILE.json

    {"steps": [{"do": "write", "path": "a.txt", "text": "hello"}, {"do": "done"}, {"do": "listen"}],
     "on": {"VERIFICATION_FAILED": [{"do": "commit", "message": "Clean up"}, {"do": "done"}]}}

It is a member like any other: it works in its workspace, with git, and speaks through the `headcount`
command line and nothing else. `on` says what to do when mail comes, by template or else by type; a key
such as `"shutdown_request 2"` is for the second of its kind. Without a word about it, a shutdown request
is approved and followed by `exit`; all other mail is only read.

    do          with                    what
    write       path, text              writes a file, directories included
    stage       paths                   git add
    commit      message                 git add --all, git commit
    stash       message                 git stash push --include-untracked
    run         command                 any program, as a list
    print       text, lines = 1         prints the text so many times
    stray       scrub = false           leaves a daemon in its own session that ignores SIGTERM;
                                        with `scrub`, without environment
    ignore      signals                 ignores them from now on, such as ["SIGTERM"]
    sleep       seconds
    hang                                for ever, without reading mail
    headcount   args                    any member command
    send        to, subject, body
    done        task                    the done signal, for the task if one is named
    idle
    approve     request                 the request in hand, or the open one
    reject      reason, request
    wait_mail   kind, seconds = 60      handles mail until one of that template or type was handled;
                                        exits with code 3 when none came
    listen                              handles mail for ever
    exit        code = 0

Any step may have `times`, to do it more than once. In all text, `{id}`, `{requestId}`, `{from}`,
`{subject}`, `{body}` and the mail's metadata, such as `{issue}`, stand for those of the mail in hand, and
`{task}` for the task that it was started for.
Lines on standard input are nudges: they are read, and printed.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from headcount.domain.templates import read_metadata

_POLL_S = 20
_MAX_FAILURES = 10
_NO_MAIL = 3
_STRAY = "trap '' TERM HUP INT; while :; do sleep 1; done"

Step = dict[str, Any]


class ScriptedAgent:
    def __init__(self, script: dict[str, Any]) -> None:
        self._steps: list[Step] = script.get("steps", [{"do": "listen"}])
        self._reactions: dict[str, list[Step]] = script.get("on", {})
        self._handled: dict[str, int] = {}
        self._mail: dict[str, Any] = {}
        self._cli = shlex.split(os.environ.get("HEADCOUNT_CLI", "")) or [sys.executable, "-m", "headcount"]

    def run(self) -> None:
        threading.Thread(target=_read_nudges, daemon=True).start()
        self.follow(self._steps)

    def follow(self, steps: list[Step]) -> None:
        for step in steps:
            for _ in range(step.get("times", 1)):
                STEPS[step["do"]](self, self._filled(step))

    def _filled(self, step: Any) -> Any:
        """`step` with the placeholders of the mail in hand replaced, at any depth."""
        if isinstance(step, str):
            known = {"task": os.environ.get("HEADCOUNT_TASK", ""), **self._mail}
            for name, value in known.items():
                step = step.replace(f"{{{name}}}", str(value))
            return step
        if isinstance(step, list):
            return [self._filled(item) for item in step]
        if isinstance(step, dict):
            return {key: self._filled(value) for key, value in step.items()}
        return step

    # --- speaking

    def headcount(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([*self._cli, *words], stdout=subprocess.PIPE, text=True)
        _say(f"headcount {shlex.join(words)}: exit {done.returncode}")
        return done

    def git(self, *words: str) -> None:
        name = os.environ.get("HEADCOUNT_MEMBER", "scripted")
        identity = ["-c", f"user.name={name}", "-c", f"user.email={name}@headcount.invalid"]
        done = subprocess.run(["git", *identity, *words])
        _say(f"git {shlex.join(words)}: exit {done.returncode}")

    # --- mail

    def wait_mail(self, kind: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        before = self._handled.get(kind, 0)
        while self._handled.get(kind, 0) == before:
            left = deadline - time.monotonic()
            if left <= 0:
                sys.exit(_NO_MAIL)
            self._handle_mail(min(left, _POLL_S))

    def listen(self) -> None:
        while True:
            self._handle_mail(_POLL_S)

    def _handle_mail(self, wait_s: float) -> None:
        for mail in self._read_mail(wait_s):
            self._mail = {**mail, **read_metadata(mail.get("body") or "")}
            kinds = [kind for kind in (mail.get("template"), mail["type"]) if kind]
            for kind in kinds:
                self._handled[kind] = self._handled.get(kind, 0) + 1
            self.follow(self._reaction(kinds))

    def _read_mail(self, wait_s: float) -> list[dict[str, Any]]:
        for _ in range(_MAX_FAILURES):
            done = self.headcount("inbox", "--unread", "--wait", f"{max(wait_s, 0.1):.1f}", "--json")
            if done.returncode == 0:
                answer = json.loads(done.stdout or "[]")
                messages: list[dict[str, Any]] = answer if isinstance(answer, list) else answer["messages"]
                return messages
            time.sleep(0.2)
        sys.exit(done.returncode)

    def _reaction(self, kinds: list[str]) -> list[Step]:
        for kind in kinds:
            for key in (f"{kind} {self._handled[kind]}", kind):
                if key in self._reactions:
                    return self._reactions[key]
        return [{"do": "approve"}, {"do": "exit"}] if "shutdown_request" in kinds else []


def _write(agent: ScriptedAgent, step: Step) -> None:
    os.makedirs(os.path.dirname(step["path"]) or ".", exist_ok=True)
    with open(step["path"], "w") as file:
        file.write(step["text"])


def _commit(agent: ScriptedAgent, step: Step) -> None:
    agent.git("add", "--all")
    agent.git("commit", "--quiet", "--message", step["message"])


def _print(agent: ScriptedAgent, step: Step) -> None:
    for _ in range(step.get("lines", 1)):
        print(step["text"])
    sys.stdout.flush()


def _stray(agent: ScriptedAgent, step: Step) -> None:
    env = {"PATH": os.defpath} if step.get("scrub") else None
    nothing = subprocess.DEVNULL
    child = subprocess.Popen(
        ["sh", "-c", _STRAY], env=env, start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing
    )
    _say(f"left a stray child, pid {child.pid}")


def _ignore(agent: ScriptedAgent, step: Step) -> None:
    for name in step["signals"]:
        signal.signal(signal.Signals[name], signal.SIG_IGN)


def _hang(agent: ScriptedAgent, step: Step) -> None:
    while True:
        time.sleep(3600)


def _approve(agent: ScriptedAgent, step: Step) -> None:
    agent.headcount("approve", *_request_in_hand(agent, step))


def _reject(agent: ScriptedAgent, step: Step) -> None:
    agent.headcount("reject", *_request_in_hand(agent, step), "--reason", step["reason"])


def _request_in_hand(agent: ScriptedAgent, step: Step) -> list[str]:
    request = step.get("request") or agent._mail.get("requestId")
    return [request] if request else []


STEPS: dict[str, Callable[[ScriptedAgent, Step], object]] = {
    "write": _write,
    "stage": lambda agent, step: agent.git("add", "--", *step["paths"]),
    "commit": _commit,
    "stash": lambda agent, step: agent.git("stash", "push", "--include-untracked", "-m", step["message"]),
    "run": lambda agent, step: subprocess.run(step["command"]),
    "print": _print,
    "stray": _stray,
    "ignore": _ignore,
    "sleep": lambda agent, step: time.sleep(step["seconds"]),
    "hang": _hang,
    "headcount": lambda agent, step: agent.headcount(*step["args"]),
    "send": lambda agent, step: agent.headcount(
        "send", step["to"], "-s", step["subject"], "-m", step["body"]
    ),
    "done": lambda agent, step: agent.headcount("done", *filter(None, [step.get("task")])),
    "idle": lambda agent, step: agent.headcount("idle"),
    "approve": _approve,
    "reject": _reject,
    "wait_mail": lambda agent, step: agent.wait_mail(step["kind"], step.get("seconds", 60)),
    "listen": lambda agent, step: agent.listen(),
    "exit": lambda agent, step: sys.exit(step.get("code", 0)),
}


def _read_nudges() -> None:
    for line in sys.stdin:
        _say(f"nudged: {line.rstrip()}")


def _say(text: str) -> None:
    print(f"[scripted] {text}", flush=True)


def main(arguments: list[str]) -> None:
    with open(arguments[0]) as file:
        script = json.load(file)
    ScriptedAgent(script).run()


if __name__ == "__main__":
    main(sys.argv[1:])
