"""Files that go along with a prompt: found, read safely and told apart, without any front end."""
