"""One file with the page and its answers."""

MOST_SIZE = "5MB"
"""The default limit of the file, for ``base.units.parse_size``."""
