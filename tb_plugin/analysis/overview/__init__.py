"""The Overview: where the time of a step went, and what to do about it."""
