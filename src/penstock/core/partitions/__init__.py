"""Partitions: grains, keys, bounds, sets of them as ranges, and the ranges of inputs they read."""
