"""What each event changes in the records, as pure functions in one place."""
