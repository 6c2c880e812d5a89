"""The steps. A file that was released is never changed."""
