"""What a run would do, and for which models."""
