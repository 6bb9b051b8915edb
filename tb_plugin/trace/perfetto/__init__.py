"""Perfetto protobuf files (`.pftrace`) to the JSON text of the same trace."""
