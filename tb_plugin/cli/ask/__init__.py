"""Commands for programs and agents: one answer, SQL, files, a server."""
