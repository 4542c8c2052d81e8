"""What the front ends use of models that do not chat: speech."""
