"""What is known of models apart from any server: abilities, thinking, and what can be done."""
