"""Definitions in Python: the session that collects mistakes (`session`) and the reader of a file (`read`)."""
