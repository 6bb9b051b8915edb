"""Remote filesystems: listing, and local copies of files."""
