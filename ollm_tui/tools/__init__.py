"""Tools that a model may call: how they are defined, registered, approved and run.

A tool knows nothing of chats, providers or screens, and a call never fails but as a result that
the model can read. What a conversation does with calls and results belongs to `chat`.
"""
