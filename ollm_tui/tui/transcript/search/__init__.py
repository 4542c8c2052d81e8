"""Search in a transcript."""
