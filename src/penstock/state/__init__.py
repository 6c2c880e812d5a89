"""The state store: records, leases, migrations."""
