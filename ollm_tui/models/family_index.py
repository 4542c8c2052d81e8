"""The keys of a family file that tell which models it is for, read without a parser of YAML.

All built-in files are indexed before the first answer. To import the parser and run it over them
takes 15 ms; the lines of these keys have one simple form there.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ollm_tui.config.yaml_file import PatternText, parse_yaml, plain_value
from ollm_tui.lazy import lazy_re

DEFAULT_VARIANT: Final = "@"
_INDEXED: Final = lazy_re(
    r"^(?:_id|priority|type|modelPattern):[^\n]*\n(?:[ \t#][^\n]*\n|\n)*", re.MULTILINE
)
_SIMPLE: Final = lazy_re(
    r"""(?:(?P<name>_id|type):[ ](?P<word>[A-Za-z][A-Za-z-]*)
    |priority:[ ](?P<priority>[1-9][0-9]{0,8})
    |(?P<table>modelPattern):
    |[ ]{2}(?P<quote>'?)(?P<variant>[A-Za-z0-9@][A-Za-z0-9.-]*)(?P=quote):
        [ ]!re[ ](?P<pattern>/\S+/[a-z]*)
    )?""",
    re.VERBOSE,
)
"""A line with a plain word, a number, or a pattern without spaces, so without a comment either."""


def indexed_keys(text: str, path: Path) -> dict[str, object]:
    """Return `_id`, `priority`, `type` and `modelPattern` of a built-in file.

    Raises:
        YamlProblem: they are not valid YAML.
    """
    written = "".join(_INDEXED.findall(text))
    simple = _simple_keys(written)
    return parse_yaml(written, path).values if simple is None else simple


def _simple_keys(written: str) -> dict[str, object] | None:
    """Return the keys if each line has its usual form, and none is there twice."""
    values: dict[str, object] = {}
    patterns: dict[str, object] | None = None
    for key, value in _lines(written):
        if key is None:
            return None
        is_pattern = isinstance(value, PatternText)
        into = patterns if is_pattern else values
        if into is None or key in into:
            return None
        # A pattern belongs to the table that is right above it.
        patterns = patterns if is_pattern else value if isinstance(value, dict) else None
        into[key] = value
    return None if values.get("modelPattern") == {} else values


def _lines(written: str) -> Iterator[tuple[str | None, object]]:
    """Return key and value of each line; no key for a line that the parser has to read."""
    for line in written.splitlines():
        parts = _SIMPLE.fullmatch(line)
        if parts is None or (parts["name"] and plain_value(parts["word"]) != parts["word"]):
            yield None, None
        elif parts["name"]:
            yield parts["name"], parts["word"]
        elif parts["priority"]:
            yield "priority", int(parts["priority"])
        elif parts["table"]:
            yield "modelPattern", {}
        elif parts["variant"]:
            yield parts["variant"], PatternText(parts["pattern"])
