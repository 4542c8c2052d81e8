"""vLLM: its own options by the names of its version, and exact counts of tokens.

It ignores fields that it does not know, so nothing tells that an option has the name of another
version: the version is asked for, once, when an option depends on it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import Request
from ollm_tui.providers.openai_compatible.operations import read_token_count
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.openai_compatible.to_wire import wire_think
from ollm_tui.providers.refusals import NO_SUCH_PATH
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import Preparation
from ollm_tui.providers.transport import COUNT_S
from ollm_tui.providers.unsupported import OnLeftOut, ignore_left_out

if TYPE_CHECKING:
    from ollm_tui.providers.openai_compatible.vllm_options import VllmOptions

VERSION_TIMEOUT_S = 2.0
FIRST_STRUCTURED = (0, 12)
_VERSION = re.compile(r"v?(\d+)\.(\d+)(?!\.dev)")
"""A build from a shallow copy of the sources calls itself `0.1.devN`, which says nothing."""
_OF_THE_PROMPT = ("model", "messages", "tools", "chat_template", "chat_template_kwargs")


def knows_structured_outputs(version: str | None) -> bool:
    """Whether constraints go by their newer names; so they do where the version is not known."""
    found = _VERSION.match(version or "")
    return found is None or (int(found[1]), int(found[2])) >= FIRST_STRUCTURED


class VllmProvider(OpenAICompatibleProvider):
    """A vLLM server."""

    def __init__(self, spec: ProviderSpec) -> None:
        super().__init__(spec)
        self._structured = True
        self._knows_version = False
        self._counts = True

    async def count_tokens(self, request: Request) -> int:
        """Count at `/tokenize`, which is not below `/v1`; a server without it is asked once.

        Raises:
            AIError: any failure.
        """
        if not self._counts:
            raise AIError(ErrorCode.UNSUPPORTED_FEATURE, "This server does not count tokens.")
        body = self._body(self._with_defaults(request))
        asked = {key: body[key] for key in _OF_THE_PROMPT if key in body}
        try:
            told = {**asked, "add_generation_prompt": True}
            reply = await self._at_root("POST", "/tokenize", told, within_s=COUNT_S)
        except AIError as error:
            self._counts = error.status not in NO_SUCH_PATH
            raise
        return read_token_count(reply, "count")

    async def _listed(self) -> Sequence[ModelInfo]:
        """Give the server's models: it was started with them, and keeps them all in memory."""
        return [replace(info, loaded=True) for info in await super()._listed()]

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        options = _options(request)
        if options is None:
            return super()._body(request, on_left_out)
        extra, lost = options.for_server(structured=self._structured)
        for name in lost:
            why = AIError(ErrorCode.UNSUPPORTED_FEATURE, f"This vLLM has no `{name}`.")
            on_left_out(LeftOut(name, why))
        if isinstance(extra.get("chat_template_kwargs"), dict) and request.should_think is not None:
            wished = as_object(wire_think(request.should_think, "vllm").get("chat_template_kwargs"))
            extra["chat_template_kwargs"] = wished | as_object(extra["chat_template_kwargs"])
        request = replace(request, options=replace(request.options, extra_body=extra))
        return super()._body(request, on_left_out)

    def _preparation(self, request: Request) -> Preparation | None:
        is_known = self._knows_version or not request.options.extra_body
        return None if is_known else partial(self._prepare, request)

    async def _prepare(self, request: Request) -> None:
        options = _options(request)
        if options is not None and options.constrains:
            await self._ask_version()

    async def _ask_version(self) -> None:
        """Find out which names the server knows; one that does not tell is taken for a new one."""
        try:
            reply = await self._at_root("GET", "/version", within_s=VERSION_TIMEOUT_S)
        except AIError as error:
            self._knows_version = error.status is not None
            return
        self._knows_version = True
        self._structured = knows_structured_outputs(string(as_object(reply), "version"))


def _options(request: Request) -> "VllmOptions | None":
    extra = request.options.extra_body
    if not extra:
        return None
    # Building the types takes some milliseconds, which a start can do without.
    from ollm_tui.providers.openai_compatible.vllm_options import VllmOptions

    return VllmOptions.checked(extra)
