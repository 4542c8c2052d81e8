"""The chat in lines, for screen readers and simple terminals: no screen, no boxes, no colours.

It runs on the runtime and the slash commands of the full-screen app; see ADR 0010.
"""
