"""Graphs: what was replayed by one launch, what waited inside it, and which operators it holds."""
