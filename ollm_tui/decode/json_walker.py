"""A JSON decoder that lets other threads run while it reads a large text."""

import json
from collections.abc import Callable
from json import decoder, scanner
from typing import Any


class WalkingDecoder(json.JSONDecoder):
    """Walks lists and objects in Python, as the standard library does without its C part.

    The usual decoder lets no other thread run until it has read the whole text.
    """

    def __init__(
        self, *, parse_constant: Callable[[str], Any], parse_float: Callable[[str], Any]
    ) -> None:
        super().__init__(parse_constant=parse_constant, parse_float=parse_float)
        # Names that the standard library has for this, and its type stubs do not know.
        self.parse_object = decoder.JSONObject  # type: ignore[attr-defined]
        self.parse_array = decoder.JSONArray  # type: ignore[attr-defined]
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]
