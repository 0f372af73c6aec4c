"""Explorer, simulator, checkers, fakes and conformance suites that several test directories share.

- `explore`: visits every reachable state of small teams; `simulate`: runs whole teams from seeds, with faults
- `invariants`, `onlooker`, `liveness`, `laws`: the checkers, separate from the code that they check
- `transcript`, `diagram`, `mutate`: the rules as stories, as diagrams, and broken one by one
- `store_suite`, `fake_runtime`: the conformance suite of stores, and a fake runtime

The commands run from the root of a checkout: `python -m tests.support.simulate --runs 20000`.
"""
