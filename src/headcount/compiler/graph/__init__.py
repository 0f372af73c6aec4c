"""A definition as a picture: members, tasks with their dependencies, and the shutdown.

Document ─ drawing ─→ Drawing ─┬ mermaid ─→ text
                               └ layout, svg ─→ one self-contained SVG
"""
