"""From the tags that a model declares to what is searched for in its answer; pure.

The stream begins inside the thinking for `first` and `deep` where no start tag exists but
something ends it, or where the prompt opens the block; for `off` and `last` it never does. For
`last` the thinking may stand after the answer, else only before it. A model without tags of its
own gets the usual pairs of `decode/thinking.py`.
"""

from dataclasses import replace
from itertools import product
from typing import TypeAlias

from ollm_tui.decode.tag_pattern import spell_out
from ollm_tui.decode.thinking import TagPair, ThinkTags
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import TagPattern, TagSpec, ThinkingMode, ThinkingPlan

Spellings: TypeAlias = tuple[str, ...]


def find_tags(
    think_tag: TagSpec | None,
    answer_tag: TagSpec | None,
    *,
    mode: ThinkingMode | None,
    starts_open: bool = False,
) -> ThinkTags:
    """Return the tags to search for, and whether the answer begins inside the thinking.

    Raises:
        AIError: BAD_REQUEST for tags that cannot be searched for.
    """
    try:
        starts, ends = _delimiters(think_tag)
        answer_starts, answer_ends = _delimiters(answer_tag)
        return _tags(starts, ends, answer_starts, answer_ends, mode, starts_open)
    except ValueError as error:
        sentence = f"{str(error)[:1].upper()}{str(error)[1:].removesuffix('.')}."
        raise AIError(ErrorCode.BAD_REQUEST, sentence) from error


def tags_of(plan: ThinkingPlan, *, is_divided: bool = False) -> ThinkTags:
    """Return the tags to search for in the answer to a request.

    `is_divided`: the server itself takes out the thinking that a chat template opens, so that the
    text which it sends never begins inside a block.

    Raises:
        AIError: BAD_REQUEST for tags that cannot be searched for.
    """
    starts_open = plan.starts_open and not is_divided
    tags = find_tags(plan.think_tag, plan.answer_tag, mode=plan.mode, starts_open=starts_open)
    return tags if plan.channels is None else replace(tags, channels=plan.channels)


def _delimiters(tag: TagSpec | None) -> tuple[Spellings, Spellings]:
    """Return the start and end delimiters; a single one is a start."""
    match tag:
        case None:
            return (), ()
        case str():
            return _one(tag), ()
        case TagPattern(start, end):
            return (spell_out(start) if start else ()), (spell_out(end) if end else ())
        case (start, end):
            return _one(start), _one(end)


def _one(tag: str) -> Spellings:
    return (tag,) if tag else ()


def _tags(
    starts: Spellings,
    ends: Spellings,
    answer_starts: Spellings,
    answer_ends: Spellings,
    mode: ThinkingMode | None,
    starts_open: bool,
) -> ThinkTags:
    if not starts:
        answer_starts = (*ends, *answer_starts)
    pairs = tuple(
        TagPair(start.lstrip(), end) for start, end in product(starts, ends or answer_starts or ())
    ) or tuple(TagPair(start.lstrip(), start) for start in starts)
    has_no_start = not pairs and bool(answer_starts)
    if mode == "off":  # the end of a blank block that the request began, or the template
        answer_starts = (*answer_starts, *ends)
    opened = starts_open or (has_no_start and mode is not None)
    return ThinkTags(
        pairs=pairs if pairs or has_no_start else ThinkTags().pairs,
        answer_starts=answer_starts,
        answer_ends=answer_ends,
        start_open=opened and mode not in ("off", "last"),
        where="anywhere" if mode == "last" else "leading",
    )
