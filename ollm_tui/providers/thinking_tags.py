"""Which reasoning tags to look for in an answer: the request's, else `<think>`."""

from ollm_tui.decode.think_tags import TagPair, ThinkTags
from ollm_tui.protocol.thinking import ShouldThink, ThinkingConfig


def tags_for(wish: ShouldThink | None) -> ThinkTags:
    """Give the tags; a pattern cannot be searched for yet and counts as the usual pair."""
    if not isinstance(wish, ThinkingConfig):
        return ThinkTags()
    pairs = ThinkTags().pairs
    match wish.think_tag:
        case str() as mark:
            pairs = (TagPair(mark, mark),)
        case (str() as start, str() as end):
            pairs = (TagPair(start, end),)
    return ThinkTags(pairs=pairs, start_open=wish.starts_open)
