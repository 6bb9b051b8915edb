"""The store: discovery of trace files, ingest in processes, cache, catalog."""
