"""The prompts and resources of a connected server: listed, completed, and read in bounds."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar

import anyio.to_thread
import mcp_types as wire
from pydantic import BaseModel

from ollm_tui.attachments.attachment import AttachedText, Attachment, FileBytes, attachment_of
from ollm_tui.decode.clean import clean, clean_name, spelled_out
from ollm_tui.decode.counted import counted
from ollm_tui.mcp.catalogue import Catalogue, read_prompts, read_resources, read_templates
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue

Result = TypeVar("Result", bound=BaseModel)
Part: TypeAlias = str | Attachment
"""A piece of a prompt: words, or what is attached."""
MAX_PARTS: Final = 40
MAX_CHARACTERS: Final = 200_000
"""Of a prompt; a resource is bounded as a file is."""
_MAX_SHOWN_LENGTH: Final = 100
_MAX_VALUES: Final = 100
_MAX_VALUE_LENGTH: Final = 300
_KEPT: Final = "\n\t\u00a0\u202f\u3000"
"""Line ends and spaces that texts of many languages have; they hide nothing."""


class Requests(Protocol):
    """What an open connection is asked for."""

    async def pages(self, method: str, key: str, *, is_vital: bool = True) -> list[JsonValue]:
        """Read a whole list."""

    async def ask(
        self, request: wire.ClientRequest, result_type: type[Result], timeout_s: float
    ) -> Result:
        """Send a request and return its result."""


class ServerOffers:
    """What the user may take from a server; every text of it is foreign and comes cleaned."""

    def __init__(self, connection: Requests, capabilities: wire.ServerCapabilities) -> None:
        self._connection = connection
        self._can = capabilities

    async def catalogue(self) -> Catalogue:
        """List the prompts, the resources and their templates.

        Raises:
            AIError: one of the lists cannot be read.
        """
        pages, prompts, resources, templates = self._connection.pages, [], [], []
        if self._can.prompts is not None:
            prompts = await pages("prompts/list", "prompts")
        if self._can.resources is not None:
            resources = await pages("resources/list", "resources")
            # A server without templates may answer that it does not know the request.
            templates = await pages("resources/templates/list", "resourceTemplates", is_vital=False)
        return Catalogue(
            read_prompts(prompts), read_resources(resources), read_templates(templates)
        )

    async def prompt(
        self, name: str, arguments: Mapping[str, str], timeout_s: float
    ) -> Sequence[Part]:
        """Return the words and attachments of a prompt.

        Raises:
            AIError: it cannot be read, or is too long.
        """
        params = wire.GetPromptRequestParams(name=name, arguments=dict(arguments))
        result = await self._connection.ask(
            wire.GetPromptRequest(params=params), wire.GetPromptResult, timeout_s
        )
        return await anyio.to_thread.run_sync(_prompt_parts, result)

    async def resource(self, uri: str, timeout_s: float) -> Sequence[Attachment]:
        """Read a resource.

        Raises:
            AIError: it cannot be read, is too large, or is nothing that can be attached.
        """
        params = wire.ReadResourceRequestParams(uri=uri)
        result = await self._connection.ask(
            wire.ReadResourceRequest(params=params), wire.ReadResourceResult, timeout_s
        )
        if not result.contents:
            raise _refusal(f"{_shown(uri)} is empty.")
        if len(result.contents) > MAX_PARTS:
            raise _refusal(f"{_shown(uri)} has more than {MAX_PARTS} parts.")
        return await anyio.to_thread.run_sync(
            lambda: [_attached(contents) for contents in result.contents]
        )

    async def prompt_values(
        self, prompt: str, argument: str, given: Mapping[str, str], timeout_s: float
    ) -> Sequence[str]:
        """Return how an argument of a prompt may go on; none if the server does not say.

        `given` has what is written of it, and the other arguments.

        Raises:
            AIError: it cannot be asked.
        """
        return await self._values(wire.PromptReference(name=prompt), argument, given, timeout_s)

    async def template_values(
        self, uri: str, variable: str, begun: str, timeout_s: float
    ) -> Sequence[str]:
        """Return how a variable of a template may go on; as `prompt_values`."""
        reference = wire.ResourceTemplateReference(uri=uri)
        return await self._values(reference, variable, {variable: begun}, timeout_s)

    async def _values(
        self,
        reference: wire.PromptReference | wire.ResourceTemplateReference,
        argument: str,
        given: Mapping[str, str],
        timeout_s: float,
    ) -> Sequence[str]:
        if self._can.completions is None:
            return ()
        others = {name: value for name, value in given.items() if name != argument}
        params = wire.CompleteRequestParams(
            ref=reference,
            argument=wire.CompletionArgument(name=argument, value=given.get(argument, "")),
            context=wire.CompletionContext(arguments=others) if others else None,
        )
        result = await self._connection.ask(
            wire.CompleteRequest(params=params), wire.CompleteResult, timeout_s
        )
        values = result.completion.values[:_MAX_VALUES]
        return [one for one in values if 0 < len(one) <= _MAX_VALUE_LENGTH and one.isprintable()]


def _prompt_parts(result: wire.GetPromptResult) -> list[Part]:
    """Return the messages of a prompt one below the other; roles are named if there are two."""
    if len(result.messages) > MAX_PARTS:
        raise _refusal(f"The prompt has more than {counted(MAX_PARTS, 'message')}.")
    has_roles = any(message.role != "user" for message in result.messages)
    parts: list[Part] = []
    for message in result.messages:
        if has_roles:
            parts.append(f"{message.role.capitalize()}:")
        parts.append(_part(message.content))
    if sum(len(part) for part in parts if isinstance(part, str)) > MAX_CHARACTERS:
        raise _refusal(f"The prompt has more than {MAX_CHARACTERS:,} characters.")
    return parts


def _part(block: wire.ContentBlock) -> Part:
    match block:
        case wire.TextContent():
            return _visible(block.text)
        case wire.ImageContent() | wire.AudioContent():
            return attachment_of(FileBytes(block.type, _decoded(block.data, block.type)))
        case wire.ResourceLink():
            return f"{clean_name(block.name)}: {clean_name(block.uri)}"
        case wire.EmbeddedResource():
            return _attached(block.resource)


def _attached(contents: wire.TextResourceContents | wire.BlobResourceContents) -> Attachment:
    """Return contents as what they are; the type that the server names does not count."""
    name = _shown(str(contents.uri))
    if isinstance(contents, wire.TextResourceContents):
        data = contents.text.encode("utf-8", "replace")
    else:
        data = _decoded(contents.blob, name)
    if not data:
        raise _refusal(f"{name} is empty.")
    attachment = attachment_of(FileBytes(name, data))
    if isinstance(attachment, AttachedText):
        return AttachedText(name, _visible(attachment.text))
    return attachment


def _visible(text: str) -> str:
    """Return a text as the user sees it: what is hidden in it is spelled out."""
    seen = clean(text.replace("\r\n", "\n").replace("\r", "\n"))
    return spelled_out(seen, _KEPT)


def _decoded(data: str, name: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise _refusal(f"The server sent {name} in a form that cannot be read.") from None


def _shown(uri: str) -> str:
    return clean_name(uri if len(uri) <= _MAX_SHOWN_LENGTH else f"{uri[: _MAX_SHOWN_LENGTH - 1]}…")


def _refusal(sentence: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, sentence)
