"""Requests of every shape, for the properties of counting."""

from hypothesis import strategies as st

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.tokens.estimate import (
    fallback_estimate,
    fixed_pieces,
    message_pieces,
    piece_tokens,
)
from tests.support.strategies import JSON_OBJECTS, NAMES, messages


def tool_schemas() -> st.SearchStrategy[ToolSchema]:
    return st.builds(
        ToolSchema,
        name=NAMES,
        description=st.none() | st.text(),
        parameters=st.none() | JSON_OBJECTS,
    )


def requests(model: str = "m") -> st.SearchStrategy[Request]:
    return st.builds(
        Request,
        model=st.just(model),
        messages=st.lists(messages(), min_size=1, max_size=4),
        system_prompt=st.none() | st.text(),
        tools=st.lists(tool_schemas(), max_size=2),
    )


def conversations() -> st.SearchStrategy[list[Message]]:
    """Messages of the usual roles in any order."""
    roles = st.sampled_from(["system", "user", "assistant", "tool"])
    return st.lists(st.builds(Message, roles, st.text(min_size=1, max_size=9)), max_size=12)


def estimate_request(request: Request) -> int:
    pieces = list(fixed_pieces(request))
    for message in request.conversation:
        pieces += message_pieces(message)
    return max(1, sum(piece_tokens(piece, fallback_estimate) for piece in pieces))
