"""The timeline: tracks, lanes, levels of detail, and the questions asked of them."""
