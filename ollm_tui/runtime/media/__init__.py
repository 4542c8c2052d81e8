"""Models that do not chat, for the front ends: which one a task uses, and the voice of the app."""
