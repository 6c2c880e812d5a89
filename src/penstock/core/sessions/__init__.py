"""Session packages as values: the declaration in a file, and the records of runs."""
