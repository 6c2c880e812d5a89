"""Files as text and trees: found, read, cached. This code does not know models."""
