"""Partitions: grains, keys, bounds, sets of them as ranges, and which range of an input is read."""
