"""Chats on disk: SQLite in a thread of its own, behind an async face.

Belongs here: files, SQL, and what a stored chat is. What a message means, and when one is written,
belongs to `chat`.
"""
