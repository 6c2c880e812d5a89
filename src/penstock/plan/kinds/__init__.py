"""What a plan has to say of each kind of work, a module each behind `PlannedKind`."""
