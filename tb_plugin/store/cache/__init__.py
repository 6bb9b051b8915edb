"""The cache: computed results, on disk and in memory."""
