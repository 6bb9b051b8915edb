"""What a chosen range of time holds: slices, sums, devices, call tree."""
