"""The site: documents that a browser shows, and the files they are written to."""
