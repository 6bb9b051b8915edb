"""The timeline: tracks, lanes, levels of detail, and queries on them."""
