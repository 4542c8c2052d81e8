"""Tools that a model may call: how they are defined, registered, approved and run.

A tool does not depend on chats, providers or screens. A failed call is a result that the model can
read. What a conversation does with calls and results belongs to `chat`.
"""
