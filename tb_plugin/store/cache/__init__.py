"""What was computed once and is kept: on disk and in memory."""
