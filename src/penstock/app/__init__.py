"""The use cases: one file each, between the rooms that decide and the hands that act."""

import penstock.strategies.registry  # noqa: F401  every use case finds strategies by their words
