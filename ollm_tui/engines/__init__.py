"""Engines as programs: what runs in a child process, and the frames it speaks with its parent.

A module here imports the standard library and its own engine, nothing else.
"""
