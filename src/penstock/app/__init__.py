"""The use cases, one file each: they connect decisions with effects."""
