"""vLLM: its own options by the names of its version, and exact token counts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ollm_tui.decode.json_fields import as_object, string, strings
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import PromptText, PromptToken, Request
from ollm_tui.providers.body.unsupported import OnLeftOut, ignore_left_out
from ollm_tui.providers.http_provider import read_token_count
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.refusals import NO_SUCH_PATH
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import COUNT_S

if TYPE_CHECKING:
    from ollm_tui.providers.openai_compatible.vllm_options import VllmOptions

VERSION_TIMEOUT_S = 2.0
FIRST_STRUCTURED = (0, 12)
_VERSION = lazy_re(r"v?(\d+)\.(\d+)(?!\.dev)")
"""A build from a shallow clone has the version `0.1.devN`, which means nothing."""
_PROMPT_KEYS = (
    "model", "messages", "tools", "chat_template", "chat_template_kwargs",
    "add_generation_prompt", "continue_final_message",
)  # fmt: skip


def knows_structured_outputs(version: str | None) -> bool:
    """Whether constraints have their newer names, as they do if the version is not known."""
    match = _VERSION.match(version or "")
    return match is None or (int(match[1]), int(match[2])) >= FIRST_STRUCTURED


class VllmProvider(OpenAICompatibleProvider):
    """A vLLM server."""

    def __init__(self, spec: ProviderSpec) -> None:
        super().__init__(spec)
        self._structured = True
        self._knows_version = False
        self._counts = True

    async def count_tokens(self, request: Request) -> int:
        """Count a prompt's tokens at `/tokenize`, which is not below `/v1`.

        Raises:
            AIError: any failure.
        """
        return read_token_count(await self._tokenized(request), "count")

    async def prompt_text(self, request: Request) -> PromptText:
        """Return the prompt with its tokens, from `/tokenize` and `/detokenize`.

        Raises:
            AIError: any failure.
        """
        tokenized = as_object(await self._tokenized(request, return_token_strs=True))
        tokens = tokenized.get("tokens")
        ids = [one for one in tokens if isinstance(one, int)] if isinstance(tokens, list) else []
        body: JsonObject = {"model": request.model, "tokens": [*ids]}
        reply = await self._root_json("POST", "/detokenize", body, within_s=COUNT_S)
        text = string(as_object(reply), "prompt")
        if text is None:
            raise AIError(ErrorCode.ENGINE_ERROR, "The server's reply has no prompt.")
        texts = strings(tokenized.get("token_strs"))
        if len(texts) != len(ids):  # an older version does not send them
            return PromptText(text)
        return PromptText(text, tuple(map(PromptToken, ids, texts)))

    async def _tokenized(self, request: Request, **more: JsonValue) -> JsonValue:
        if not self._counts:
            raise AIError(ErrorCode.UNSUPPORTED_FEATURE, "This server does not count tokens.")
        body = self._body(self._with_defaults(request))
        prompt: JsonObject = {"add_generation_prompt": True}
        prompt |= {key: body[key] for key in _PROMPT_KEYS if key in body} | more
        try:
            return await self._root_json("POST", "/tokenize", prompt, within_s=COUNT_S)
        except AIError as error:
            self._counts = error.status not in NO_SUCH_PATH
            raise

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        """Return the server's models: it keeps all that it was started with in memory."""
        return [replace(info, loaded=True) for info in await super()._fetch_models()]

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        options = _options(request)
        if options is None:
            return super()._body(request, on_left_out)
        extra, lost = options.for_server(structured=self._structured)
        for name in lost:
            refusal = AIError(ErrorCode.UNSUPPORTED_FEATURE, f"This vLLM has no `{name}`.")
            on_left_out(LeftOut(name, refusal))
        request = replace(request, options=replace(request.options, extra_body=extra))
        return super()._body(request, on_left_out)

    async def _prepare(self, request: Request) -> None:
        options = None if self._knows_version else _options(request)
        if options is not None and options.constrains:
            await self._fetch_version()

    async def _fetch_version(self) -> None:
        """Find out which names the server knows; without a version it counts as new."""
        try:
            reply = await self._root_json("GET", "/version", within_s=VERSION_TIMEOUT_S)
        except AIError as error:
            self._knows_version = error.status is not None
            return
        self._knows_version = True
        self._structured = knows_structured_outputs(string(as_object(reply), "version"))


def _options(request: Request) -> "VllmOptions | None":
    extra = request.options.extra_body
    if not extra:
        return None
    # Building the pydantic models takes some milliseconds, which would delay every start.
    from ollm_tui.providers.openai_compatible.vllm_options import VllmOptions

    return VllmOptions.validated(extra)
