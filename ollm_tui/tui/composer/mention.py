"""Where in a draft the name of a file is being written; pure."""

import re
from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 200
_MENTION: Final = re.compile(rf"(?:^|(?<=[\s(\[\"']))@(?P<name>[^\s@]{{0,{_LONGEST}}})\Z")
_ATTACH: Final = re.compile(r"/attach[ \t]+(?P<name>[^\n]*)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileQuery:
    """The beginning of a file's name, and where it stands."""

    draft: str
    text: str
    """What is written of the name."""
    start: int
    """Where that begins in the draft: for a mention, behind the `@`."""
    is_mention: bool


def file_query(draft: str, cursor: int) -> FileQuery | None:
    """Find the name that is being written at `cursor`; None when there is none."""
    if match := _ATTACH.match(draft):
        return FileQuery(draft, match["name"], match.start("name"), is_mention=False)
    if draft.startswith("/"):
        return None
    line = max(draft.rfind("\n", 0, cursor) + 1, cursor - _LONGEST - 2)
    match = _MENTION.search(draft[line:cursor])
    if match is None:
        return None
    return FileQuery(draft, match["name"], line + match.start("name"), is_mention=True)
