"""Processes: starting members under a keeper, plain or in tmux, and the proof that a tree is empty."""
