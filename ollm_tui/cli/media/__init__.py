"""The commands that turn one input into another kind of content."""
