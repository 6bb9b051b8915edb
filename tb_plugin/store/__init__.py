"""Where traces come from and how long they stay: discovery, ingest in processes, cache, catalog."""
