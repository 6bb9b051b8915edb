"""The Memory view."""
