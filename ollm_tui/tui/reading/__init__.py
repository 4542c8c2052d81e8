"""Views for reading: one message alone, and the list of marked messages."""

from ollm_tui.tui.reading.focus import FocusScreen
from ollm_tui.tui.reading.marks import MarkPicker

__all__ = ["FocusScreen", "MarkPicker"]
