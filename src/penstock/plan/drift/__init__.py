"""Which tables and partitions are no longer what code and inputs would make, and why."""
