"""Read entities from documents and native files."""
