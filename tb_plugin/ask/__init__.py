"""Questions in one call: the digest of a recording, SQL over its columns, files, and a server."""
