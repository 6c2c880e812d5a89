"""What the app has to say of each kind of work, a module each behind `WorkKind`."""
