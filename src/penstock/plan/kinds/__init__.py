"""What a plan does for each kind of work, one module each behind `PlannedKind`."""
