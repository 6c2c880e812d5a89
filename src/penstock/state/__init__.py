"""Remembers what was done: records, leases, migrations."""
