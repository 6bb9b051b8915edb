"""The base layer, without any knowledge of traces: errors, units, arrays, intervals."""
