"""A store that forgets when the process ends: a dictionary of records, and the transition."""
