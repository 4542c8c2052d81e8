"""Notes that last over chats, and the tool that changes them."""
