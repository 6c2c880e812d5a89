"""Everything a step needs before it writes: its run, its inputs, its statements."""
