"""Conversations: prompts in, chat events out, history kept; no front ends, files or settings."""
