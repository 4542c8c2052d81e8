"""What is known of models apart from any server: how they think, and how they show it."""
