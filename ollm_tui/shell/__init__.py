"""Commands of a person, run by their own shell: bounded in time and output, and ended whole."""
