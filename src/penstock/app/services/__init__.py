"""The services that every use case needs, and the right to write."""
