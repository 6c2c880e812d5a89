"""Partitions: grains, keys and bounds, sets of them as ranges, and which range of an input one reads."""
