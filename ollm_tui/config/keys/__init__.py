"""Keys and tokens: where they are kept, and which one the hub gets."""
