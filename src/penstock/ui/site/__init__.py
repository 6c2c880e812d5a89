"""The server of `docs serve`."""
