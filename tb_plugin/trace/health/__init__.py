"""Checks of a trace, and the notes that the health record keeps."""
