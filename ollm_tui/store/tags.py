"""The tags of a chat: words that the user gives it, to choose by."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

MAX_TAGS: Final = 20
"""Tags of one chat."""
_TAG: Final = lazy_re(r"\w[\w./+-]{0,39}")
_SHOWN: Final = 60
_REMOVES: Final = "-"
_SIGN: Final = "#"


def tag_of(text: str) -> str:
    """Return a tag as it is kept: in lower case, without the sign that people write before it.

    Raises:
        AIError: BAD_REQUEST if it cannot be one.
    """
    tag = text.strip().removeprefix(_SIGN).casefold()
    if _TAG.fullmatch(tag) is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{text.strip()[:_SHOWN]!r} is not a valid tag.",
            hint="A tag is one word of letters, digits and - _ . / +, of at most 40 characters.",
        )
    return tag


def tags_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Return tags as they are kept, sorted, each once.

    Raises:
        AIError: BAD_REQUEST if one cannot be a tag, or there are too many.
    """
    tags = tuple(sorted({tag_of(text) for text in texts}))
    if len(tags) > MAX_TAGS:
        raise AIError(ErrorCode.BAD_REQUEST, f"A chat can have up to {MAX_TAGS} tags.")
    return tags


def changed_tags(tags: Sequence[str], changes: Sequence[str]) -> tuple[str, ...]:
    """Return tags with others added, and without those that are written with a minus before them.

    Raises:
        AIError: BAD_REQUEST as `tags_of`.
    """
    added = [one for one in changes if not one.startswith(_REMOVES)]
    removed = {tag_of(one[1:]) for one in changes if one.startswith(_REMOVES)}
    return tuple(tag for tag in tags_of([*tags, *added]) if tag not in removed)


def usable_tags(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of a file, without those that cannot be one."""
    tags = {text.casefold() for text in texts if _TAG.fullmatch(text.casefold())}
    return tuple(sorted(tags)[:MAX_TAGS])


def tags_column(tags: Sequence[str]) -> str:
    """Return tags as their column has them: each between spaces."""
    return f" {' '.join(tags)} " if tags else ""
