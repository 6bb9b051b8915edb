"""The Diff view."""
