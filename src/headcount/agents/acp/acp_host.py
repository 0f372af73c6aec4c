"""Run the turns of a member whose agent speaks ACP: one process, one session, one prompt at a time.

Some agents cancel the running prompt when a second one arrives, so mail waits for the end of the turn. The
turns are those of `agents/host/host_process.py`: what a failure, a usage limit or new mail means is decided
there. Here a turn is a prompt, and the agent lives on between two of them.

An agent's word is not enough. A turn that "ended" without tokens and without a tool call had no answer of the
model and has failed. An agent that ended or stopped answering is started again, with its session if it can
load one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from headcount.agents.acp.acp_link import INVALID_REQUEST, METHOD_NOT_FOUND, AgentGone, Link, Message, Refused
from headcount.agents.acp.acp_messages import (
    LIMIT,
    as_refused,
    choose,
    count_tokens,
    count_turn_tokens,
    describe_call,
    inner,
    is_own,
    listed,
    read_trouble,
    read_wanted,
)
from headcount.agents.acp.known_agents import AcpAgent, server_entry
from headcount.agents.client import (
    NOTHING,
    Client,
    Screen,
    Seen,
    Setup,
    Turn,
    allowed_commands,
    checked,
)
from headcount.agents.host.host_process import Host, Options
from headcount.domain.command_patterns import decide_by_patterns
from headcount.domain.mail_text import plain
from headcount.domain.names import TOOLS_LISTED
from headcount.errors import ProcessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.agents.host import Processes, Reports
    from headcount.domain.records import Mail

_VERSION = 1
_START_S = 120.0  # for an answer to anything but a prompt
_TOOLS_S = 10.0  # for the agent to ask our server for its tools
_CANCEL_S, _CLOSE_S = 1.0, 0.5
_LOOK_S = 1.0
_STUCK_S = 10.0  # for the end of a turn that was cancelled at a usage limit
_AUTH_REQUIRED = -32000
_SAID = 2000  # characters of the model's words that are kept to explain a failure

_RETRIES = 3  # of one request at a limit, seen on standard error, after which the turn is given up
_MODEL = "waiting for the model"


class _Stopped(BaseException):
    """SIGTERM arrived. Not an `Exception`: nothing on the way may take it for a failure of the agent."""


class _Progress:
    """What the agent has reported in one turn."""

    def __init__(self) -> None:
        self.tokens = 0
        self.calls = 0
        self.said = ""
        self.limit = ""
        self.over_budget = False


class AcpHost(Host):
    def __init__(
        self,
        reports: Reports,
        agent: AcpAgent,
        command: tuple[str, ...],
        options: Options,
        processes: Processes,
    ) -> None:
        self._agent = agent
        self._meta: Message = {}
        self._link: Link | None = None
        self._session = ""
        self._can_close = False
        self._prompt_id: int | None = None
        self._progress = _Progress()
        self._cost = self._cost_told = 0.0
        self._shown = ""
        self._mode = agent.modes.get(options.permissions, "")
        super().__init__(reports, self._as_client(command), options, processes)

    def _as_client(self, command: tuple[str, ...]) -> Client:
        """Return the agent as the host knows clients. Its turns are prompts, so their argv is its start."""
        words = list(command)

        def prepare(setup: Setup, environ: Mapping[str, str]) -> dict[str, str]:
            ready = self._agent.prepare(setup, environ)
            self._meta = ready.meta
            words.extend(ready.words)
            return ready.env

        def turn(setup: Setup, prompt: str) -> Turn:
            return Turn(words, prompt)

        return Client(
            name=self._agent.name, title=self._agent.title, package=self._agent.package, oldest=(),
            trusts=lambda root, environ: True, trust_hint="",
            account=lambda environ: "", prepare=prepare,
            first_turn=turn, next_turn=turn, terminal=lambda setup, prompt: words,
            read_line=lambda line: NOTHING, screen=Screen("", "", ""),
            exit_text="",
        )  # fmt: skip

    # --- the turns

    def run_turns(self) -> int:
        try:
            return super().run_turns()
        except _Stopped:
            return 0
        finally:
            self._leave()

    def _stop(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._stopping = True
        raise _Stopped

    def _end_rest(self) -> None:
        """End what an agent that ended has left. One that only reported an error lives on."""
        if self._link is None:
            super()._end_rest()

    def _run_turn(self, turn: Turn, mail: list[Mail]) -> tuple[int, Seen, str]:
        """Return the exit code of an agent that ended, and what the turn reported."""
        self._progress = _Progress()
        try:
            prompt = self._connect(turn)
            self._do(_MODEL)
            words = [{"type": "text", "text": prompt}]
            result = self._exchange("session/prompt", {"sessionId": self._session, "prompt": words})
            code, seen = 0, self._judge(result)
            said = self._progress.said.strip()
            self._shown = f"said: {said}" if said else "ended its turn"
            self._reports.report_activity(self._shown)
        except Refused as error:
            code, seen = 0, read_trouble(str(error), login=error.code == _AUTH_REQUIRED)
        except AgentGone:
            code, seen = self._bury()
        except TimeoutError as error:
            self._leave()
            code, seen = 0, read_trouble(f"{error} {self._progress.limit}")
        finally:
            if self._link is not None:
                self._link.rest()
        if seen.overflow:
            self._leave()
            self._session = ""
        sys.stdout.write("\n")
        sys.stdout.flush()
        return code, checked(seen), ""

    def _judge(self, result: Message) -> Seen:
        """Return how a turn ended. "Ended" counts only with some tokens or a tool call."""
        progress = self._progress
        tokens = max(count_turn_tokens(result) - progress.tokens, 0)
        reason = str(result.get("stopReason"))
        counted = tokens or progress.tokens or progress.calls
        answered = counted or (progress.said and not self._agent.counts)
        if (reason != "cancelled" and answered) or progress.over_budget:
            return Seen(tokens=tokens, cost_usd=self._take_cost(), answered=True)
        said = progress.limit or progress.said.strip()
        text = f"its turn ended ({reason}) without an answer of the model{f': {said}' if said else ''}"
        return read_trouble(text)._replace(tokens=tokens)

    def _spend(self, tokens: int) -> None:
        """Record a part of the cost in mid-turn. Above a budget, end the turn if a request waits."""
        self._progress.tokens += tokens
        seen = Seen(tokens=tokens, cost_usd=self._take_cost())
        if not seen.tokens and not seen.cost_usd:
            return
        if self._reports.record_usage(seen) and not self._progress.over_budget and self._has_request():
            self._progress.over_budget = True
            assert self._link is not None
            self._link.notify("session/cancel", {"sessionId": self._session})

    def _take_cost(self) -> float:
        """Return what the session has cost since the last turn. Agents report its sum."""
        cost, self._cost_told = self._cost - self._cost_told, self._cost
        return max(cost, 0.0)

    def _bury(self) -> tuple[int, Seen]:
        """Return how an agent that ended did so, and end what it has left."""
        last = self._link.errors[-1] if self._link is not None and self._link.errors else "it has ended"
        return self._leave() or 1, read_trouble(last)

    # --- the session

    def _connect(self, turn: Turn) -> str:
        """Start the agent and a session where there is none, and return the prompt for it."""
        if self._link is not None and self._link.has_ended():
            self._reports.warn(f"{self._agent.title} had ended while it was idle, and is started again")
            self._leave()
        if self._link is not None:
            self._link.errors.clear()
            return turn.stdin
        with contextlib.suppress(OSError):
            os.unlink(f"{self._setup.directory}/{TOOLS_LISTED}")
        self._do("starting")
        try:
            self._link = Link(turn.argv, {**self._env, **self._processes.begin()})
        except OSError as error:
            raise ProcessError(
                f"Did not start {self._agent.title}", str(error), code="client-missing"
            ) from error
        try:
            loaded = self._open_session()
        except Refused:
            self._leave()
            raise
        self._wait_for_tools()
        if loaded or self._agent.has_brief:
            return turn.stdin
        return f"{self._setup.instructions}\n\n{turn.stdin}"

    def _open_session(self) -> bool:
        """Load the session of the process before this one, or begin another. Return whether it was loaded."""
        hello = self._exchange("initialize", {
            "protocolVersion": _VERSION,
            "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
            "clientInfo": {"name": "headcount", "version": "1"},
        }, _START_S)  # fmt: skip
        if hello.get("protocolVersion") != _VERSION:
            raise Refused(
                INVALID_REQUEST, f"it speaks version {hello.get('protocolVersion')} of the protocol"
            )
        can = inner(hello, "agentCapabilities")
        self._can_close = "close" in inner(can, "sessionCapabilities")
        if self._session and self._agent.loads and can.get("loadSession") and self._load():
            return True
        self._begin()
        return False

    def _session_params(self) -> Message:
        servers = [] if self._agent.has_server else [server_entry(self._setup, self._env)]
        params: Message = {"cwd": os.getcwd(), "mcpServers": servers}
        return {**params, "_meta": self._meta} if self._meta else params

    def _load(self) -> bool:
        """Return whether the agent has loaded the session of the process that ended."""
        try:
            self._exchange("session/load", {"sessionId": self._session, **self._session_params()}, _START_S)
        except Refused as error:
            self._reports.warn(
                f"{self._agent.title} began a new session: it did not load the last one ({error})"
            )
            return False
        return True

    def _begin(self) -> None:
        self._session = ""
        self._cost = self._cost_told = 0.0
        made = self._exchange("session/new", self._session_params(), _START_S)
        self._session = str(made.get("sessionId") or "")
        if not self._session:
            raise Refused(INVALID_REQUEST, "its new session has no id")
        modes = listed(inner(made, "modes").get("availableModes"))
        if self._mode and self._mode in [one.get("id") for one in modes]:
            self._exchange("session/set_mode", {"sessionId": self._session, "modeId": self._mode}, _START_S)
        if self._setup.model:
            self._choose_model(made)

    def _choose_model(self, made: Message) -> None:
        model = self._setup.model
        options = [one.get("id") for one in listed(made.get("configOptions"))]
        if "model" in options:
            params = {"sessionId": self._session, "configId": "model", "value": model}
            self._exchange("session/set_config_option", params, _START_S)
        else:
            self._exchange("session/set_model", {"sessionId": self._session, "modelId": model}, _START_S)

    def _wait_for_tools(self) -> None:
        """Wait until the agent has listed our tools, unless it does so itself before its first request."""
        if self._agent.has_server:
            return
        listed, deadline = f"{self._setup.directory}/{TOOLS_LISTED}", time.monotonic() + _TOOLS_S
        while not os.path.exists(listed) and time.monotonic() < deadline:
            self._handle(0.05)

    # --- messages

    def _exchange(self, method: str, params: Message, limit_s: float | None = None) -> Message:
        """Send a request, handle what arrives, and return the result."""
        assert self._link is not None
        wanted = self._link.request(method, params)
        if method == "session/prompt":
            self._prompt_id = wanted
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"{self._agent.title} did not answer {method} within {limit_s:.0f} s")
            message = self._handle(min(left or _LOOK_S, _LOOK_S))
            if message is not None and message.get("id") == wanted:
                break
            if self._prompt_id == wanted and self._is_stuck_at_limit():
                self._link.notify("session/cancel", {"sessionId": self._session})
                deadline, limit_s = time.monotonic() + _STUCK_S, _STUCK_S
        if self._prompt_id == wanted:
            self._prompt_id = None
        error = message.get("error")
        if message.get("too_long"):
            raise Refused(INVALID_REQUEST, f"its answer to {method} is too long")
        if error is not None:
            raise as_refused(error)
        return inner(message, "result")

    def _handle(self, limit_s: float | None) -> Message | None:
        """Take one message. Answer a request of the agent, return an answer to ours."""
        assert self._link is not None
        message = self._link.take(limit_s)
        if message is None:
            return None
        method = message.get("method")
        if method is None:
            return message
        params = inner(message, "params")
        if "id" not in message:
            if method == "session/update" and self._prompt_id is not None:
                self._note(inner(params, "update"))
        elif method == "session/request_permission" and not message.get("too_long"):
            self._link.answer(message, {"outcome": self._permit(params)})
        elif message.get("too_long"):
            self._link.refuse(message, INVALID_REQUEST, "the message is too long")
        else:
            self._link.refuse(message, METHOD_NOT_FOUND, f"headcount has no method {method}")
        return None

    def _note(self, update: Message) -> None:
        """Take from an update what counts: words, tool calls, tokens, cost."""
        kind, progress = update.get("sessionUpdate"), self._progress
        if kind == "agent_message_chunk":
            words = str(inner(update, "content").get("text") or "")
            progress.said = (progress.said + words)[-_SAID:]
            sys.stdout.write(plain(words))
            if words:
                self._do(_MODEL)
        elif kind in ("tool_call", "tool_call_update"):
            self._note_call(update)
        elif kind == "usage_update":
            cost = checked(Seen(cost_usd=inner(update, "cost").get("amount", 0.0)))
            self._cost = max(self._cost, cost.cost_usd)
        self._spend(count_tokens(inner(update, "_meta", "usage")))

    def _note_call(self, update: Message) -> None:
        done = update.get("status") in ("completed", "failed")
        if update["sessionUpdate"] == "tool_call" or done:
            self._progress.calls += 1
        text = describe_call(update)
        if done:
            self._do(_MODEL)
        elif text:
            self._do(text)

    def _do(self, text: str) -> None:
        if text != self._shown:
            self._shown = text
            self._reports.report_activity(text)
            if text != _MODEL:
                sys.stdout.write(f"\n* {plain(text)}\n")
                sys.stdout.flush()

    # --- permission

    def _permit(self, params: Message) -> Message:
        """Answer a permission request: by the member's permissions, else by `Reports.ask`."""
        call, options = inner(params, "toolCall"), listed(params.get("options"))
        allowed = self._prompt_id is not None and (
            self._setup.permissions == "full" or self._is_usual(call) or self._ask(call)
        )
        return choose(options, allowed)

    def _is_usual(self, call: Message) -> bool:
        """Return whether `permissions = "edit"` covers a request, and the settings do not deny it."""
        command = read_wanted(call, titled=self._agent.titled).command
        usual = [f"{words} *" for words in allowed_commands()]
        decided = decide_by_patterns(command, usual, self._setup.deny) if command else None
        return is_own(call, os.getcwd()) if decided is None else decided[0]

    def _ask(self, call: Message) -> bool:
        assert self._link is not None
        wanted = read_wanted(call, titled=self._agent.titled)
        self._do(f"waiting for permission: {wanted.title}")
        answer = self._reports.ask(wanted, self._link.ended)
        self._do(_MODEL)
        return answer.allowed

    # --- the way out

    def _is_stuck_at_limit(self) -> bool:
        """Return whether the agent retries a request at a usage limit, and says so nowhere but in its log."""
        link, progress = self._link, self._progress
        if self._agent.at_limit != "stderr" or link is None or progress.limit:
            return False
        found = [line for line in list(link.errors) if LIMIT.search(line)]
        progress.limit = found[-1] if len(found) >= _RETRIES else ""
        return bool(progress.limit)

    def _leave(self) -> int:
        """End the agent: cancel its turn, close its session, close its input, SIGTERM, SIGKILL.

        Return its exit code. The runtime then proves that nothing of it is left.
        """
        link, self._link = self._link, None
        if link is None:
            return 0
        with contextlib.suppress(AgentGone):
            if self._prompt_id is not None:
                link.notify("session/cancel", {"sessionId": self._session})
                self._await(link, self._prompt_id, _CANCEL_S)
            if self._can_close and self._session:
                closing = link.request("session/close", {"sessionId": self._session})
                self._await(link, closing, _CLOSE_S)
        self._prompt_id = None
        return link.leave(self._agent.ends_on_eof)

    def _await(self, link: Link, wanted: int, limit_s: float) -> None:
        """Wait for one answer on the way out. Permission requests are cancelled."""
        deadline = time.monotonic() + limit_s
        while (left := deadline - time.monotonic()) > 0:
            message = link.take(left)
            if message is None or ("method" not in message and message.get("id") == wanted):
                return
            if "method" in message and "id" in message:
                link.answer(message, {"outcome": {"outcome": "cancelled"}})
