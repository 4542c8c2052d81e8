"""Conversations: prompts in, chat events out, history kept.

Sits on the providers and knows nothing of front ends, files or settings.
"""
