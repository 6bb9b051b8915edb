"""The Operator view."""
