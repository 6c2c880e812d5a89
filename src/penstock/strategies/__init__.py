"""How one table is made: one file per strategy, values in, statements out."""
