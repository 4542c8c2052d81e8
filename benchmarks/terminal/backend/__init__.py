"""A model server on loopback: prompts choose what it streams, and it records disconnects."""
