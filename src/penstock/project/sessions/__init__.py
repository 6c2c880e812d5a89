"""Read session packages from files."""
