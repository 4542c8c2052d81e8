"""Settings: what a person writes, where each value came from, and what is wrong with it.

Nothing is imported here, so that the first frame can read theme and keys without pydantic:
import `ollm_tui.config.load` for everything, `ollm_tui.config.early` for the start.
"""
