"""Other terminal chats, fetched by their own package clients, with what it takes to work them.

What a peer writes goes into a home of its own; its model's address is the server on loopback, and
what it could ask of a network is switched off by its own settings.
"""
