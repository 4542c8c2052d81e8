"""The composition root: makes a running runtime of settings, and closes it at exit.

Rules of chats, providers and files belong in the layers below.
"""
