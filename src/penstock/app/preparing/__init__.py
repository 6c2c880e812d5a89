"""What one step knows before anything is written: its run, its inputs, its statements."""
