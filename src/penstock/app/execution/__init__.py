"""Running steps: begin, commit, finish, and settling what a crash left open."""
