"""Search in the texts of all saved chats.

The index is a file of its own beside the chats, which may be deleted at any time: it is made again
from the chats. So it cannot make a save fail, and saving does not wait for it.
"""
