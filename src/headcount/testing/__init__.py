"""For whoever builds on headcount, and for headcount itself: the rules explored, simulated and checked.

- `explore`: every reachable state of a small team · `simulate`: seeded runs of whole teams, with faults
- `invariants`, `onlooker`, `liveness`, `laws`: the checkers, apart from what they check
- `transcript`, `diagram`, `mutate`: the rules as stories, as pictures, and broken one by one
- `store_suite`, `fake_runtime`: conformance and fakes for adapters
"""
