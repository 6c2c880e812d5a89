"""What every event means for the records: pure, and the only place that knows it."""
