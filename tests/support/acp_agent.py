"""An agent that speaks ACP and does what its script says: `python acp_agent.py SCRIPT`, a JSON file.

    {"prompts": [[ACTION, …], …], "capabilities": {…}, "new": {…}, "silent": ["initialize"],
     "refuses": {"session/load": {…}}, "ignores_eof": true, "ignores_cancel": true}

Each prompt takes the next list of actions, also after the agent was started again. What the host sends is in
SCRIPT.log, one message a line.

    {"say": "text"}  {"update": {…}}  {"raw": "not JSON"}  {"flood": 1000, "size": 100}
    {"ask": {"toolCall": {…}, "options": […]}}     waits for the answer
    {"request": "fs/read_text_file"}               waits for the answer
    {"end": "end_turn", "usage": {"totalTokens": 5}}  {"error": {"code": -32603, "message": "…"}}
    {"die": 9}  {"exit": 3}  {"hang": true}  {"stderr": "text"}  {"child": "sleep 1000"}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

SESSION = "s1"


class Agent:
    def __init__(self, path: str) -> None:
        with open(path) as file:
            self.script: dict[str, Any] = json.load(file)
        self.log = open(f"{path}.log", "a", buffering=1)  # noqa: SIM115 - open as long as the agent lives
        self.counter = f"{path}.count"
        self.asked = 0

    def read(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            if self.script.get("ignores_eof"):
                time.sleep(1000)
            sys.exit(0)
        self.log.write(line)
        message: dict[str, Any] = json.loads(line)
        return message

    def write(self, message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def run(self) -> None:
        while True:
            message = self.read()
            method = message.get("method")
            if method in self.script.get("silent", ()) or "id" not in message or method is None:
                continue
            if method == "session/prompt":
                self.prompt(message)
            elif method in self.script.get("refuses", {}):
                self.write({"id": message["id"], "error": self.script["refuses"][method]})
            else:
                self.write({"id": message["id"], "result": self.result(method)})

    def result(self, method: str) -> dict[str, Any]:
        if method == "initialize":
            able = self.script.get(
                "capabilities", {"loadSession": True, "sessionCapabilities": {"close": {}}}
            )
            return {"protocolVersion": self.script.get("version", 1), "agentCapabilities": able}
        if method == "session/new":
            return {"sessionId": SESSION, **self.script.get("new", {})}
        return {}

    def prompt(self, message: dict[str, Any]) -> None:
        number = 0
        if os.path.exists(self.counter):
            with open(self.counter) as file:
                number = int(file.read())
        with open(self.counter, "w") as file:
            file.write(str(number + 1))
        prompts = self.script["prompts"]
        actions = (
            prompts[number] if number < len(prompts) else [{"end": "end_turn", "usage": {"totalTokens": 1}}]
        )
        for action in actions:
            self.do(action, message["id"])

    def update(self, content: dict[str, Any]) -> None:
        self.write({"method": "session/update", "params": {"sessionId": SESSION, "update": content}})

    def ask(self, method: str, params: dict[str, Any]) -> None:
        self.asked += 1
        number = f"ask-{self.asked}"
        self.write({"id": number, "method": method, "params": {"sessionId": SESSION, **params}})
        while self.read().get("id") != number:
            pass

    def do(self, action: dict[str, Any], prompt: int) -> None:
        if "say" in action:
            self.update({"sessionUpdate": "agent_message_chunk",
                         "content": {"type": "text", "text": action["say"]}})  # fmt: skip
        elif "update" in action:
            self.update(action["update"])
        elif "raw" in action:
            sys.stdout.write(action["raw"] + "\n")
            sys.stdout.flush()
        elif "flood" in action:
            for _ in range(action["flood"]):
                self.do({"say": "x" * action["size"]}, prompt)
        elif "ask" in action:
            self.ask("session/request_permission", action["ask"])
        elif "request" in action:
            self.ask(action["request"], {})
        elif "end" in action:
            self.write({"id": prompt, "result": {"stopReason": action["end"], "usage": action.get("usage")}})
        elif "error" in action:
            self.write({"id": prompt, "error": action["error"]})
        elif "die" in action:
            os.kill(os.getpid(), action["die"])
        elif "exit" in action:
            sys.exit(action["exit"])
        elif "stderr" in action:
            sys.stderr.write(action["stderr"] + "\n")
            sys.stderr.flush()
        elif "child" in action:
            subprocess.Popen(action["child"], shell=True, stdin=subprocess.DEVNULL)
        elif "hang" in action:
            while self.read().get("method") != "session/cancel" or self.script.get("ignores_cancel"):
                pass
            self.do({"end": "cancelled"}, prompt)


if __name__ == "__main__":
    Agent(sys.argv[1]).run()
