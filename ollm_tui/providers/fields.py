"""The fields of foreign JSON as adapters read them: what `decode.json_fields` has."""

from ollm_tui.decode.json_fields import (
    LARGEST,
    as_object,
    integer,
    number,
    objects,
    positive,
    string,
    strings,
)

__all__ = [
    "LARGEST",
    "as_object",
    "integer",
    "number",
    "objects",
    "positive",
    "string",
    "strings",
]
