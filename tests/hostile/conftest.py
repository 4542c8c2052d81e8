from tests.support.idle import waits_for_what_can_happen
from tests.support.style_sheets import parses_style_sheets_once

__all__ = ["parses_style_sheets_once", "waits_for_what_can_happen"]
