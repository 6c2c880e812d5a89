"""What people read: one file per command, with text and JSON side by side."""
