"""The speed-of-light view."""
