"""Settings: what the user writes, where each value came from, and what is wrong with it.

Nothing is imported here, so that the first frame can read theme and keys without pydantic.
"""
