"""Requests of a server through the official SDK: read, asked about, answered by the protocol."""

from collections.abc import Mapping
from typing import Any, Final

import anyio.to_thread
import mcp_types as wire
from mcp.client.session import ClientRequestContext

from ollm_tui.decode.clean import clean_line
from ollm_tui.mcp.content import PICTURES
from ollm_tui.mcp.elicitation import BadForm, read_form
from ollm_tui.mcp.requests import (
    Action,
    AddressRequest,
    FormRequest,
    SamplingRequest,
    ServerRights,
)
from ollm_tui.protocol.blocks import AudioContent, Block, ImageContent, TextContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message

MAX_MESSAGES: Final = 100
MAX_CHARACTERS: Final = 200_000
MAX_TOKENS: Final = 32_768
"""Of an answer, whatever a server asks for."""
_HOTTEST: Final = 2.0
_REJECTED: Final = -1
_MAX_MESSAGE_LENGTH: Final = 10_000


class _Unusable(Exception):
    """The message is a sentence for the server."""


def callbacks_of(rights: ServerRights) -> Mapping[str, Any]:
    """Return the callbacks of a session: only for what the server may ask."""
    callbacks = ServerCallbacks(rights)
    wanted = {
        "sampling_callback": callbacks.sample if rights.may_sample else None,
        "elicitation_callback": callbacks.elicit if rights.may_elicit else None,
        "list_roots_callback": callbacks.roots if rights.root is not None else None,
    }
    return {name: one for name, one in wanted.items() if one is not None}


class ServerCallbacks:
    """Answers the requests of one server."""

    def __init__(self, rights: ServerRights) -> None:
        self._rights = rights

    async def sample(
        self, _context: ClientRequestContext, params: wire.CreateMessageRequestParams
    ) -> wire.CreateMessageResult | wire.ErrorData:
        """Have the model of the chat answer, if the user agrees to the request and the answer."""
        try:
            request = _sampling_request(self._rights.name, params)
            answer = await self._rights.ask(
                lambda one: one.sample(request), lambda one: one is None
            )
        except _Unusable as error:
            return wire.ErrorData(code=wire.INVALID_PARAMS, message=str(error))
        except AIError as error:
            return _failed(error)
        if answer is None:
            return wire.ErrorData(code=_REJECTED, message="User rejected sampling request")
        return wire.CreateMessageResult(
            role="assistant",
            content=wire.TextContent(text=answer.text),
            model=answer.model,
            stop_reason="maxTokens" if answer.is_cut else "endTurn",
        )

    async def elicit(
        self, _context: ClientRequestContext, params: wire.ElicitRequestParams
    ) -> wire.ElicitResult | wire.ErrorData:
        """Have the user fill a form, or open an address."""
        name, message = self._rights.name, params.message[:_MAX_MESSAGE_LENGTH]
        try:
            if isinstance(params, wire.ElicitRequestURLParams):
                page = AddressRequest(name, message, params.url)
                action: Action = await self._rights.ask(
                    lambda one: one.open_page(page), _is_refusal
                )
                return wire.ElicitResult(action=action)
            fields = await anyio.to_thread.run_sync(read_form, params.requested_schema)
            form = FormRequest(name, message, fields)
            action, values = await self._rights.ask(
                lambda one: one.fill(form), lambda one: _is_refusal(one[0])
            )
        except BadForm as error:
            return wire.ErrorData(code=wire.INVALID_PARAMS, message=str(error))
        except AIError as error:
            return _failed(error)
        if action != "accept":
            return wire.ElicitResult(action=action)
        return wire.ElicitResult(action=action, content=dict(values))

    async def roots(self, _context: ClientRequestContext) -> wire.ListRootsResult | wire.ErrorData:
        """Tell the working folder."""
        root = self._rights.root
        listed = [wire.Root(uri=root.as_uri(), name=root.name or None)] if root else []
        return wire.ListRootsResult(roots=listed)


def _is_refusal(action: Action) -> bool:
    return action != "accept"


def _failed(error: AIError) -> wire.ErrorData:
    return wire.ErrorData(code=wire.INTERNAL_ERROR, message=clean_line(error.message))


def _sampling_request(server: str, params: wire.CreateMessageRequestParams) -> SamplingRequest:
    if params.tools or params.tool_choice:
        raise _Unusable("Tools in a sampling request are not supported.")
    if not 0 < len(params.messages) <= MAX_MESSAGES:
        raise _Unusable(f"A sampling request has 1 to {MAX_MESSAGES} messages.")
    messages = tuple(_message(one) for one in params.messages)
    if messages[-1].role != "user":
        raise _Unusable("The last message of a sampling request is one of the user.")
    system = params.system_prompt or ""
    if len(system) + sum(len(one.text) for one in messages) > MAX_CHARACTERS:
        raise _Unusable(f"A sampling request has at most {MAX_CHARACTERS:,} characters.")
    if params.max_tokens < 1:
        raise _Unusable("The limit of tokens is above zero.")
    return SamplingRequest(
        server,
        messages,
        min(params.max_tokens, MAX_TOKENS),
        system,
        params.temperature if 0 <= (params.temperature or 0) <= _HOTTEST else None,
        tuple((params.stop_sequences or [])[:8]),
    )


def _message(one: wire.SamplingMessage) -> Message:
    blocks = [_block(block) for block in one.content_as_list]
    try:
        return Message(one.role, blocks)
    except AIError as error:
        raise _Unusable(error.message) from error


def _block(block: wire.SamplingMessageContentBlock) -> Block:
    match block:
        case wire.TextContent():
            return TextContent(block.text)
        case wire.ImageContent() if block.mime_type in PICTURES:
            return ImageContent(data=block.data, mime_type=block.mime_type)
        case wire.AudioContent():
            return AudioContent(data=block.data, mime_type=block.mime_type)
        case _:
            raise _Unusable(f"Content of the type {block.type} is not supported.")
