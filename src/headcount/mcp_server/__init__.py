"""The MCP server: one table of tools, on standard input and output.

    tools.py       every tool: its words for a model, its parameters, its hints
    arguments.py   what a client sent, in our words, checked against that table
    *_tools.py     one thin function a tool, over the use cases in `app/`
    tool_calls.py  opens the state on the first call, performs calls in a thread, and composes results
    mcp_protocol.py  what the protocol says around a call: versions, capabilities, error codes
    stdio.py       standard input and output; imports next to nothing before the first call

A client's first turn begins whether or not the server has answered, so `tools/list` must not wait for the
store. `tool_calls.py` and the tools are imported with the first call.
"""
