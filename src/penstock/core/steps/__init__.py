"""Steps: what one intends, reads, runs and leaves in the log."""
