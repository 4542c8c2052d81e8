"""Which reasoning tags to look for in an answer: the request's, else `<think>`."""

from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.models.thinking import find_tags
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.thinking import ShouldThink, ThinkingConfig


def check_tags(wish: ShouldThink | None) -> None:
    """Refuse tags that cannot be searched for, before anything is sent.

    Raises:
        AIError: BAD_REQUEST with a sentence.
    """
    if isinstance(wish, ThinkingConfig):
        _found(wish)


def tags_for(wish: ShouldThink | None) -> ThinkTags:
    """Give the tags and the state in which the answer begins; refused ones are the usual pair."""
    if not isinstance(wish, ThinkingConfig):
        return ThinkTags()
    try:
        return _found(wish)
    except AIError:
        return ThinkTags()


def _found(wish: ThinkingConfig) -> ThinkTags:
    return find_tags(wish.think_tag, wish.answer_tag, mode=wish.mode, starts_open=wish.starts_open)
