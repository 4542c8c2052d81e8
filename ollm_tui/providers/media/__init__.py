"""Content other than text: as servers take it, and as they make it of a single input."""
