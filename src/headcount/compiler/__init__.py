"""Definitions in, Markdown out: a reader for each source, one tree, one IR, one writer.

compile_file(path) ─→ Compiled: the Markdown, the IR that `run` carries out, and the diagnostics
"""
