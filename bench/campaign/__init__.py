"""A seeded campaign against headcount, judged by an observer that imports nothing of it.

    python -m bench.campaign --trials 500 --seed 7 --jobs 2

`plan.py` draws a trial from its seed. `trial.py` plays it. `agent.py`, `work.py` and `strays.py` are the
scripted agents. `snapshot.py` records what is there before the end, `hunt.py` looks for it afterwards, and
`processes.py` lists processes from outside. The page `docs/explanation/campaign.md` explains what is
tried and how to replay a trial.
"""
