"""Models as Python functions: declared, found, linked."""
