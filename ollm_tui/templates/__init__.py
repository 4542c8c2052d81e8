"""Chat templates: rendered in a process of their own, and read for what they support."""
