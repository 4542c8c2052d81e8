"""The tools of a run of the program: which there are, and which the settings switch on."""
