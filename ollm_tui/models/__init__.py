"""What is known of models apart from any server: their abilities, and how they think."""
