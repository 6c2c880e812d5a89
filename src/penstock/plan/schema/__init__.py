"""Which columns a table must have, and how it comes to have them."""
