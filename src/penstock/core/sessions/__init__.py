"""Session packages as values: what one file declares, and what runs leave on record."""
