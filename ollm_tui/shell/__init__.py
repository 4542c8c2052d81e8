"""Commands of the user, run by their own shell: bounded in time and output, and ended whole."""
