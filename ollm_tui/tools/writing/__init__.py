"""Tools that change files: planned, asked about with the diff, journaled, and taken back."""
