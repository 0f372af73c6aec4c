"""The interfaces that clients speak to a model, as far as the stand-in needs them: a request read into one
shape, and an answer written in the words of each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

Block = dict[str, Any]

SHELLS = ("Bash", "exec_command", "shell", "shell_command", "local_shell", "bash", "run_shell_command")
WRITERS = {"Write": "file_path", "write_file": "file_path", "write": "filePath"}
TOKENS_IN, TOKENS_OUT = 100, 10
_ids = itertools.count(1)


class Turn(NamedTuple):
    """A request: the names of its tools, all of its text, and what was said last."""

    tools: list[str]
    everything: str
    last: str


class Dialect(NamedTuple):
    read: Callable[[dict[str, Any]], Turn]
    write: Callable[[dict[str, Any], list[Block], str], tuple[str, bytes]]
    error: Callable[[Block], bytes]


def find(path: str) -> Dialect | None:
    if "count_tokens" in path or "countTokens" in path:
        return None
    return next((dialect for part, dialect in _BY_PATH.items() if part in path), None)


def small_talk(path: str) -> bytes:
    return b'{"input_tokens": 100, "totalTokens": 100}'


def shell_arguments(tool: str, command: str) -> dict[str, Any]:
    if tool == "exec_command":
        return {"cmd": command}
    if tool == "shell":
        return {"command": ["bash", "-c", command]}
    return {"command": command, "description": "scripted"}


def write_arguments(tool: str, path: str, content: str) -> dict[str, Any]:
    return {WRITERS.get(tool, "path"): path, "content": content}


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _after_answer(messages: list[dict[str, Any]]) -> str:
    """All that was said since the model spoke: results, and what the client put beside them."""
    spoke = max((n for n, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    return "\n".join(_plain(message["content"]) for message in messages[spoke + 1 :])


def _events(events: list[tuple[str, dict[str, Any]]]) -> bytes:
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events).encode()


def _as_json(error: dict[str, Any]) -> bytes:
    return json.dumps(error).encode()


# --- Anthropic Messages --------------------------------------------------------------------------------


def _read_messages(request: dict[str, Any]) -> Turn:
    tools = [tool["name"] for tool in request.get("tools") or [] if "name" in tool]
    return Turn(tools, json.dumps(request, ensure_ascii=False), _after_answer(request["messages"]))


def _write_messages(request: dict[str, Any], blocks: list[Block], path: str) -> tuple[str, bytes]:
    content = [_messages_block(block) for block in blocks]
    stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    usage = {"input_tokens": request["context"] or TOKENS_IN, "output_tokens": TOKENS_OUT,
             "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}  # fmt: skip
    message = {"id": f"msg_{next(_ids)}", "type": "message", "role": "assistant", "model": request["model"],
               "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}  # fmt: skip
    if not request.get("stream"):
        return "application/json", json.dumps(message).encode()
    events = [("message_start", {"message": {**message, "content": [], "stop_reason": None}})]
    for index, block in enumerate(content):
        events += _messages_events(index, block)
    events.append(("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None},
                                     "usage": {"output_tokens": TOKENS_OUT}}))  # fmt: skip
    events.append(("message_stop", {}))
    return "text/event-stream", _events([(name, {"type": name, **data}) for name, data in events])


def _messages_block(block: Block) -> Block:
    if "tool" not in block:
        return {"type": "text", "text": block["text"]}
    return {
        "type": "tool_use",
        "id": f"toolu_{next(_ids)}",
        "name": block["tool"],
        "input": block["arguments"],
    }


def _messages_events(index: int, block: Block) -> list[tuple[str, dict[str, Any]]]:
    if block["type"] == "text":
        empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        ("content_block_start", {"index": index, "content_block": empty}),
        ("content_block_delta", {"index": index, "delta": delta}),
        ("content_block_stop", {"index": index}),
    ]


def _messages_error(block: Block) -> bytes:
    return _as_json({"type": "error", "error": {"type": block["kind"], "message": block["message"]}})


# --- OpenAI Responses ----------------------------------------------------------------------------------


def _read_responses(request: dict[str, Any]) -> Turn:
    tools: list[str] = []
    for tool in request.get("tools") or []:
        if tool.get("type") == "namespace":
            tools += [f"{tool['name']}/{inner['name']}" for inner in tool.get("tools", [])]
        elif "name" in tool:
            tools.append(tool["name"])
    return Turn(tools, json.dumps(request, ensure_ascii=False), _plain(request["input"][-1:]))


def _write_responses(request: dict[str, Any], blocks: list[Block], path: str) -> tuple[str, bytes]:
    items = [_responses_item(block) for block in blocks]
    number = f"resp_{next(_ids)}"
    usage = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT,
             "input_tokens_details": {"cached_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": {"id": number, "status": "in_progress", "output": []}})
    ]
    for index, item in enumerate(items):
        events.append(("response.output_item.added", {"output_index": index, "item": item}))
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    done = {"id": number, "status": "completed", "output": items, "usage": usage}
    events.append(("response.completed", {"response": done}))
    return "text/event-stream", _events([(name, {"type": name, **data}) for name, data in events])


def _responses_item(block: Block) -> dict[str, Any]:
    number = next(_ids)
    if "tool" not in block:
        said = {"type": "output_text", "text": block["text"], "annotations": []}
        return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                "content": [said]}  # fmt: skip
    namespace, _, name = block["tool"].rpartition("/")
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name,
            "arguments": json.dumps(block["arguments"]), "status": "completed"}  # fmt: skip
    return {**item, "namespace": namespace} if namespace else item


def _openai_error(block: Block) -> bytes:
    return _as_json({"error": {"type": block["kind"], "code": block["kind"], "message": block["message"],
                               **block.get("fields", {})}})  # fmt: skip


# --- OpenAI Chat Completions ---------------------------------------------------------------------------


def _read_chat(request: dict[str, Any]) -> Turn:
    tools = [tool["function"]["name"] for tool in request.get("tools") or []]
    return Turn(tools, json.dumps(request, ensure_ascii=False), _after_answer(request["messages"]))


def _write_chat(request: dict[str, Any], blocks: list[Block], path: str) -> tuple[str, bytes]:
    calls = [block for block in blocks if "tool" in block]
    delta: dict[str, Any] = {"role": "assistant"}
    if calls:
        delta["tool_calls"] = [
            {"index": index, "id": f"call_{next(_ids)}", "type": "function",
             "function": {"name": call["tool"], "arguments": json.dumps(call["arguments"])}}
            for index, call in enumerate(calls)
        ]  # fmt: skip
    else:
        delta["content"] = " ".join(block["text"] for block in blocks)
    finish = "tool_calls" if calls else "stop"
    usage = {
        "prompt_tokens": TOKENS_IN,
        "completion_tokens": TOKENS_OUT,
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }
    head = {"id": f"c{next(_ids)}", "created": 1, "model": request.get("model")}
    if not request.get("stream"):
        choice = {"index": 0, "message": delta, "finish_reason": finish}
        return "application/json", json.dumps(
            {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        ).encode()
    chunk = {**head, "object": "chat.completion.chunk"}
    chunks = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {**chunk, "choices": [], "usage": usage},
    ]
    text = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
    return "text/event-stream", text.encode()


# --- Gemini generateContent ----------------------------------------------------------------------------


def _read_gemini(request: dict[str, Any]) -> Turn:
    declared = [tool.get("functionDeclarations", []) for tool in request.get("tools") or []]
    tools = [function["name"] for functions in declared for function in functions]
    return Turn(tools, json.dumps(request, ensure_ascii=False), _plain(request["contents"][-1:]))


def _write_gemini(request: dict[str, Any], blocks: list[Block], path: str) -> tuple[str, bytes]:
    wants_json = (request.get("generationConfig") or {}).get("responseMimeType") == "application/json"
    parts = [
        {"functionCall": {"name": block["tool"], "args": block["arguments"]}}
        if "tool" in block
        else {"text": "{}" if wants_json else block["text"]}
        for block in blocks
    ]
    usage = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT,
             "totalTokenCount": TOKENS_IN + TOKENS_OUT}  # fmt: skip
    content = {"role": "model", "parts": parts}
    answer = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
              "usageMetadata": usage, "modelVersion": "stand-in"}  # fmt: skip
    if "stream" in path:
        return "text/event-stream", f"data: {json.dumps(answer)}\r\n\r\n".encode()
    return "application/json", json.dumps(answer).encode()


def _gemini_error(block: Block) -> bytes:
    error = {"code": block["error"], "message": block["message"], "status": block["kind"]}
    return _as_json({"error": {**error, **block.get("fields", {})}})


_BY_PATH: dict[str, Dialect] = {
    "/v1/messages": Dialect(_read_messages, _write_messages, _messages_error),
    "/responses": Dialect(_read_responses, _write_responses, _openai_error),
    "/chat/completions": Dialect(_read_chat, _write_chat, _openai_error),
    "enerateContent": Dialect(_read_gemini, _write_gemini, _gemini_error),
}
