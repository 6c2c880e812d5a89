"""Models as Python functions: declaration, discovery, linking."""
