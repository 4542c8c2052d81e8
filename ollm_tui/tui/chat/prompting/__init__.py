"""Prompts and commands in their order, and what helps to write them."""
