"""The tests of headcount. `tests.support` holds what several of them share."""
