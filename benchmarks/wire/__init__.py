"""Processor time that clients need to turn a streamed answer into pieces of text.

Each case reads the same prebuilt bytes from loopback in a process of its own, which counts its own
time from the request to the last piece; what it imports is not counted.
"""
