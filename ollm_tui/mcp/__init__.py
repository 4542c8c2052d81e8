"""Servers of the Model Context Protocol: each in a task and a process group of its own.

Only `connection.py` and the transports import the official SDK, once a server is started.
"""
