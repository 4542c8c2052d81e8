"""What is done with a running program, and what is measured meanwhile."""
