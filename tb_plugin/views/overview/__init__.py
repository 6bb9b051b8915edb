"""The Overview."""
