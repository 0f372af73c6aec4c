"""The MCP server: one table of tools, on standard input and output.

    tools.py       every tool: its words for a model, its parameters, its hints
    arguments.py   what a client sent, checked against that table
    dialect.py     answers under other names, in our words
    handlers/      one thin function a tool, over the use cases in `app/`
    session.py     opens the state on the first call, and turns answers and errors into results
    speech.py      what the protocol says around a call: versions, capabilities, error codes
    stdio.py       standard input and output; imports next to nothing before the first call
    worker.py      the thread behind it that performs calls

A client's first turn begins whether or not the server has answered, so `tools/list` must not wait for the
store. Everything above `handlers/` is light.
"""
