"""One file with the page and its answers."""
