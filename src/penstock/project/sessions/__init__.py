"""Session packages as files say them, read into values."""
