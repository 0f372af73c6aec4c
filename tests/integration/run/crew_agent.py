"""One agent for every seat of a run: a real process that reads its task from its prompt and follows a plan.

    python crew_agent.py PLAN.json

The plan says, by task, what each worker of it does in turn (`work`, `die`, `dirty`, `empty`, `hang`,
`leave`, `shared`, `half`, `cycle`, `limit`, `wait`), what each review of it says in turn (`pass`, `twice`,
`late`, `silent`, `limit`, or the words of a request for changes), and what is answered in turn to a request
to stand down (`approve`, `stay` to approve and not exit, `mute`, or the reason of a refusal): `answers` of
the worker, `spec-answers` and `quality-answers` of its reviewers. What is not in the plan is done properly;
`pace` is how many seconds that takes.

It speaks through the member's own commands, called in this process to save time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from typing import Any

from headcount.cli import main

TASK = re.compile(r"^# (?:Review task|Task) (\S+?):", re.MULTILINE)


def headcount(*words: str) -> tuple[int, str]:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out):
        code = main([*words])
    out.flush()
    return code, out.buffer.getvalue().decode()  # type: ignore[attr-defined]


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, stdout=subprocess.DEVNULL)


class Agent:
    def __init__(self, plan_file: str) -> None:
        with open(plan_file) as file:
            self.plan: dict[str, Any] = json.load(file)
        self.place = os.path.dirname(plan_file)
        self.me = f"{os.environ['HEADCOUNT_MEMBER']}#{os.environ['HEADCOUNT_GENERATION']}"
        with open(os.environ["HEADCOUNT_PROMPT_FILE"]) as file:
            prompt = file.read()
        found = TASK.search(prompt)
        self.task = found[1] if found else ""
        self.reviews = "# Review task" in prompt
        self.waits = " is under review" in prompt or "No commit waits for your review" in prompt
        self.say(f"prompt: {prompt}")

    def say(self, text: str) -> None:
        """Whole lines, appended: what happened, for the test to read."""
        with open(f"{self.place}/said.jsonl", "a") as file:
            file.write(json.dumps({"who": self.me, "task": self.task, "text": text}) + "\n")

    def turn(self, kind: str) -> int:
        """The how-manieth this is of its kind, over all processes that there were."""
        counter = f"{self.place}/{kind}-{self.task}"
        with open(counter, "a") as file:
            file.write(f"{self.me}\n")
        with open(counter) as file:
            return len(file.readlines())

    def planned(self, kind: str, default: str) -> str:
        turns: list[str] = self.plan.get(self.task, {}).get(kind, [])
        number = self.turn(kind)
        return turns[number - 1] if number <= len(turns) else default

    # --- the two kinds of work

    def run(self) -> None:
        if not self.task:
            self.listen({})
        elif self.reviews:
            if not self.waits:
                self.review()
            self.listen({"Review again": self.review})
        elif self.waits:
            self.listen({"Changes requested": self.improve, "Verification failed": self.clean_up})
        else:
            self.work(self.planned("work", "work"))

    def work(self, how: str) -> None:
        time.sleep(self.plan.get("pace", 0))
        if how == "die":
            self.write("half done\n")
            os._exit(9)
        if how == "hang":
            self.listen({})
        if how == "limit":
            self.wait_for_limit()
        if how == "wait":
            self.wait_file("go")
        if how in ("half", "cycle", "compact"):
            self.half(how)
        if how == "shared":
            self.share()
        elif how != "empty":
            self.commit("done by " + self.me)
        if how == "dirty":
            with open("lying-about.txt", "w") as file:
                file.write(f"kept by nobody but {self.me}\n")
        if how == "leave":
            os._exit(0)
        self.done()
        failed = self.done if how == "dirty" else self.clean_up
        again = {"empty": self.done, "shared": self.merge}.get(how, self.improve)
        self.listen({"Changes requested": again, "Verification failed": failed})

    def half(self, how: str) -> None:
        """The first half is committed, of the second there is a draft; somebody else goes on."""
        self.commit("half done by " + self.me)
        self.write("a draft\n")
        self.say("half")
        if how == "cycle":
            headcount("cycle", "--self", "--remarks", "my context is full")
        if how == "compact":
            headcount("hook", "PreCompact")
        self.listen({"Verification failed": self.clean_up})

    def wait_for_limit(self) -> None:
        """As a client does that waits by itself; until the test says that the limit is over."""
        said = json.dumps({"reason": "You have hit your limit", "until": time.time() + 600})
        call = [sys.executable, "-m", "headcount", "hook"]
        subprocess.run([*call, "Limited"], input=said, text=True, check=True)
        self.wait_file("limit-over")
        subprocess.run([*call, "Resumed"], input="{}", text=True, check=True)

    def wait_file(self, name: str) -> None:
        while not os.path.exists(f"{self.place}/{name}"):
            time.sleep(0.05)

    def write(self, text: str) -> None:
        with open(f"task-{self.task}.txt", "a") as file:
            file.write(text)

    def commit(self, text: str) -> None:
        self.write(f"{text}\n")
        git("add", "--all")
        git("commit", "--quiet", "-m", f"{self.task}: {text}")

    def share(self) -> None:
        """A line of its own at the same place of the same file as everybody's."""
        with open("shared.txt", "w") as file:
            file.write(f"task {self.task}\n")
        git("add", "--all")
        git("commit", "--quiet", "-m", f"{self.task}: share")

    def merge(self, mail: Any) -> None:
        self.say(mail["body"])
        git(
            "merge",
            "--quiet",
            "-X",
            "ours",
            "-m",
            "merge",
            f"headcount/{os.environ['HEADCOUNT_TEAM']}/integration",
        )
        self.done()

    def done(self, mail: Any = None) -> None:
        headcount("done", "--verified")

    def clean_up(self, mail: Any) -> None:
        git("add", "--all")
        git("commit", "--quiet", "-m", "clean up")
        self.done()

    def improve(self, mail: Any) -> None:
        self.say(mail["body"])
        self.commit("improved")
        self.done()

    def review(self, mail: Any = None) -> None:
        time.sleep(self.plan.get("pace", 0))
        words = self.planned(self.seat, "pass")
        if words == "silent":
            return
        if words == "late":
            time.sleep(1)
        if words == "limit":
            self.wait_for_limit()
        passes = words in ("pass", "twice", "late", "limit")
        verdict = ("pass", self.task) if passes else ("changes", self.task, "--reason", words)
        for _ in range(2 if words == "twice" else 1):
            headcount("review", *verdict)

    @property
    def seat(self) -> str:
        """`spec` and `quality`, also where `spec-2` stands in."""
        return os.environ["HEADCOUNT_MEMBER"].partition("-")[0]

    # --- mail

    def listen(self, reactions: dict[str, Any]) -> None:
        while True:
            code, answer = headcount("inbox", "--unread", "--wait", "20", "--json")
            if code != 0:
                sys.exit(code)
            for mail in json.loads(answer):
                if mail["type"] == "shutdown_request":
                    self.answer(mail["requestId"])
                if mail["subject"] in reactions:
                    reactions[mail["subject"]](mail)

    def answer(self, request: str) -> None:
        words = self.planned(f"{self.seat}-answers" if self.reviews else "answers", "approve")
        if words == "approve":
            headcount("approve", request)
            sys.exit(0)
        if words == "stay":
            headcount("approve", request)
        elif words != "mute":
            headcount("reject", request, "--reason", words)


if __name__ == "__main__":
    Agent(sys.argv[1]).run()
