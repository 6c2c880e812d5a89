"""How one table is written: one file per strategy, values in, statements out."""
