"""What every use case works with: the services wired at start, and who may write."""
