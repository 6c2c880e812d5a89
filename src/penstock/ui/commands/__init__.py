"""The commands: what each takes, and what it prints as text and as JSON."""
