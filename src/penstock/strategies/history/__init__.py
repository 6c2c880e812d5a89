"""The engine of history tables: values in, stages and one MERGE out.

It serves the strategy `snapshot` and, with other terms, the entities' `historic`.
"""
