"""Builds Delta tables on Spark and knows which partitions no longer match the code."""
