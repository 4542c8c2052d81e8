"""The composition root: settings to a running runtime, and back to nothing at exit.

Here every port is filled in. No rules of chat, providers or files live here.
"""
