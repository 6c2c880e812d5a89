"""One file per type of check: what it measures and how its values are judged."""
