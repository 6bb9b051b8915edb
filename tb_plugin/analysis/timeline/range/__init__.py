"""The contents of a chosen range of time: slices, sums, devices, call tree."""
