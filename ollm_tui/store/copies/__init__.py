"""Daily copies of the saved chats, and restoring one."""
