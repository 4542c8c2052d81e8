"""Widgets of the chat: plain values in, messages out."""
