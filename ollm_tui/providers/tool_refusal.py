"""Whether a server refuses tools as such: then they can still be described in text; pure.

Nothing that is wrong with one tool, one call or one choice among tools counts.
"""

import re
from collections.abc import Collection

from ollm_tui.providers.refused_fields import names_in

_WORDS = re.compile(
    r"(?:(?:does not|doesn't|do not|not) support|no support for) (?:native )?"
    r"(?:tools?\b|tool[ _-](?:use|call|choice)|function[ _-]?call)"
    r"|endpoints found that support tool use"  # OpenRouter
    r"|\btool(?:s|_choice) param requires --jinja"  # llama.cpp
    r"|tool choice requires --|requires --(?:enable-auto-tool-choice|tool-call-parser)"  # vLLM
    r"|\b(?:tools?|tool[ _-](?:use|choice|calls?|calling)|function[ _-]calling)['\"`]?"
    r" (?:is|are) (?:not supported|unsupported)",
    re.IGNORECASE,
)
_NOT_KNOWN = frozenset({"unsupported_parameter", "unknown_parameter"})
_FIELDS = frozenset({"tools", "body.tools"})


def refuses_tools(
    message: str, *, code: object = None, param: object = None, refused: Collection[object] = ()
) -> bool:
    """Tell by a server's words, or by the field that it names beside them."""
    if _WORDS.search(message):
        return True
    if code in _NOT_KNOWN and param in _FIELDS:
        return True
    return not _FIELDS.isdisjoint((*refused, *names_in(message)))
