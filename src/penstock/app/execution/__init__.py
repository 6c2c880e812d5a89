"""Run steps: begin, commit, finish, and settle what a crash left open."""
