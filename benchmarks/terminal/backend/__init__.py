"""A model server on loopback whose prompts say what it streams, and that notes who hangs up."""
