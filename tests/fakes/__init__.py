"""Implementations of the ports that live in memory; their contracts are in tests/contracts."""
