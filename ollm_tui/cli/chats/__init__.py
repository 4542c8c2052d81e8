"""`ollm chats`: saved chats searched, listed, shown, written to files, imported and deleted."""
