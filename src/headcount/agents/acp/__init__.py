"""Run any agent that speaks the Agent Client Protocol, version 1, as a member.

`known_agents.py` is the table of what differs between agents. `acp_link.py` exchanges JSON lines with one
agent process, and `acp_messages.py` reads them. `acp_host.py` runs the turns: one process for all of them,
one session, one prompt at a time.
"""
