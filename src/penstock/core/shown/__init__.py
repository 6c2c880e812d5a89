"""Values for display."""
