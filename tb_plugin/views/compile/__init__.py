"""The compile view."""
