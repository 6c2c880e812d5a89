"""The use cases: one file each, between the rooms that decide and the hands that act."""
