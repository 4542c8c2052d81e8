"""A question with pictures, as words: on the screen, and back in the input."""

import json
from collections.abc import Sequence

from ollm_tui.protocol.blocks import (
    Block,
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
)


def block_words(block: Block) -> str:
    """Give the words of one block; what is no text is named."""
    match block:
        case TextContent() | ThinkingContent():
            return block.text
        case UnknownContent():
            return f"[{block.type}] {json.dumps(block.data, ensure_ascii=False)}"
        case _:
            return f"[{block.type}]"


def prompt_words(content: Sequence[Block]) -> str:
    """Give the words of a question; its pictures are named only where the words leave room."""
    pictures = [block for block in content if isinstance(block, ImageContent)]
    if any(map(_is_between_words, zip(content, content[1:], content[2:], strict=False))):
        return drafted(content, [f"[Image #{number + 1}]" for number in range(len(pictures))])
    words = [block_words(block) for block in content if not isinstance(block, ImageContent)]
    # A question without words would have no row that says who showed the picture.
    return "\n".join(word for word in words if word) or "\n".join(map(block_words, pictures))


def drafted(content: Sequence[Block], tokens: Sequence[str]) -> str:
    """Give words with tokens in the places of its pictures, apart from the words around all."""
    names = iter(tokens)
    are_pictures = [isinstance(block, ImageContent) for block in content]
    draft = ""
    for number, block in enumerate(content):
        if number and (
            all(are_pictures[:number])
            or all(are_pictures[number:])
            or all(are_pictures[number - 1 : number + 1])
        ):
            draft += " "
        draft += next(names) if are_pictures[number] else block_words(block)
    return draft


def _is_between_words(blocks: tuple[Block, Block, Block]) -> bool:
    before, picture, after = blocks
    if not isinstance(picture, ImageContent):
        return False
    return block_words(before)[-1:].isspace() or block_words(after)[:1].isspace()
