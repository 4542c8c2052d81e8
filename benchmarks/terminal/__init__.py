"""Terminal chats on pseudo-terminals, measured side by side against a server on loopback.

Belongs here: the server, the terminal, the programs, what is done with them and the table of
figures. See `python -m benchmarks.terminal --help`.
"""
