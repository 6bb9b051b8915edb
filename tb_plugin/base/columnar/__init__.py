"""Structs of arrays as folders of files: what fields they have, how they are stored and sealed."""

from .tables import DamagedError, StoredColumns, Writer, load

__all__ = ["DamagedError", "StoredColumns", "Writer", "load"]
