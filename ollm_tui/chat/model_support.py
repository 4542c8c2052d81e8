"""A model's abilities: which media it takes, and how its tools are described to it.

What the user set counts first, then a server's refusal, then the listing; the unknown is tried.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import anyio

from ollm_tui.chat.prompt import EVERY_MEDIUM, newest_turns
from ollm_tui.decode.counted import alternatives
from ollm_tui.decode.json_fields import strings
from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.protocol.blocks import MEDIA
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.media_ports import LimitsMedia
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.protocol.ports import SupportsList, SupportsShow
from ollm_tui.providers.operations import list_models, show_model
from ollm_tui.providers.refusals import refuses_tools
from ollm_tui.providers.router import ResolvedModel, same_model

TIMEOUT_S: Final = 2.0
"""How long to wait for a server before an attachment is sent anyway."""
MEDIA_WORDS: Final[Mapping[str, str]] = {
    "image": "pictures",
    "audio": "sound",
    "video": "videos",
    "document": "PDF files",
}


_LISTED: Final = frozenset({"image", "audio", "video"})
"""What listings tell of: whether a model reads documents is up to its server."""


class MediaSupport:
    """Which types of content models do not take; each server is queried once per model."""

    def __init__(self) -> None:
        self._listed: dict[str, ModelCapability | None] = {}
        self._refused: dict[str, frozenset[str]] = {}

    async def lacking(self, resolved: ResolvedModel, wanted: Collection[str]) -> frozenset[str]:
        """Return which of the wanted types a model is known not to take, or its server.

        Queries the server once, if nothing is known, and waits at most `TIMEOUT_S`.
        """
        lacking, address = self.known(resolved, wanted), str(resolved.ref)
        is_known = _capability(resolved.info) is not None or address in self._listed
        if not is_known and lacking < frozenset(wanted):
            self._listed[address] = await _ask(resolved)
            lacking = self.known(resolved, wanted)
        return lacking

    def known(self, resolved: ResolvedModel, wanted: Collection[str]) -> frozenset[str]:
        """Return the same without asking."""
        address, provider = str(resolved.ref), resolved.provider
        lacking = self._refused.get(address, frozenset())
        capability = _capability(resolved.info) or self._listed.get(address)
        if capability is not None:
            lacking |= _LISTED - capability.input
        if isinstance(provider, LimitsMedia):
            lacking |= EVERY_MEDIUM.difference(provider.message_media)
        return lacking.intersection(wanted)

    def learn_from(self, ref: ModelRef, error: AIError, sent: Collection[str]) -> bool:
        """Remember that a model refused what was sent; return False if it refused something else.

        A refusal overrides the listing, which may describe the model and not the server.
        """
        if error.known_code is not ErrorCode.UNSUPPORTED_MODALITY or error.status is None:
            return False
        address = str(ref)
        self._refused[address] = self._refused.get(address, frozenset()).union(sent)
        return True


async def _ask(resolved: ResolvedModel) -> ModelCapability | None:
    provider, name = resolved.provider, resolved.ref.model
    with anyio.move_on_after(TIMEOUT_S):
        try:
            if isinstance(provider, SupportsShow):
                return _capability(await show_model(provider, name))
            if isinstance(provider, SupportsList):
                models = await list_models(provider)
                return next((_capability(m) for m in models if same_model(name, m.name)), None)
        except AIError:  # the request itself reports what is wrong with the server
            return None
    return None


def _capability(info: ModelInfo | None) -> ModelCapability | None:
    capability = info.capability if info else None
    return capability if capability is not None and capability.input else None


def count_media(history: Sequence[Message], turns_left_out: int = 0) -> Counter[str]:
    """Count by type what is attached and would be sent."""
    return Counter(
        block.type
        for message in newest_turns(history, turns_left_out)
        if message.role != "assistant"  # what a model made is never sent
        for block in message.content
        if isinstance(block, MEDIA)
    )


def require_words(history: Sequence[Message], model: str, unsent: Collection[str]) -> None:
    """Raise UNSUPPORTED_MODALITY if the newest prompt has nothing but what is left out."""
    newest = next(m for m in reversed(history) if m.role == "user")
    if all(block.type in unsent for block in newest.content):
        raise AIError(
            ErrorCode.UNSUPPORTED_MODALITY,
            f"{model} does not accept {media_words(unsent)}, and the message has nothing else.",
            hint="Add some text, or choose a model that does.",
        )


def media_words(kinds: Collection[str]) -> str:
    """Return types of content in words: `pictures or sound`."""
    return alternatives([word for kind, word in MEDIA_WORDS.items() if kind in kinds])


ToolMode: TypeAlias = Literal["native", "react"]


class ToolModes:
    """The tool mode of each model, by model address."""

    def __init__(
        self,
        *,
        chosen: Mapping[str, ToolMode] | None = None,
        learned: Mapping[str, ToolMode] | None = None,
        remember: Callable[[str, ToolMode], object] | None = None,
    ) -> None:
        self._chosen = dict(chosen or {})
        self._learned = dict(learned or {})
        self._remember = remember

    def mode_of(self, ref: ModelRef, info: ModelInfo | None) -> ToolMode:
        """Return the mode for one model."""
        address = str(ref)
        chosen = self._chosen.get(address) or self._chosen.get(ref.model)
        if chosen is not None:
            return chosen
        if address in self._learned:
            return self._learned[address]
        tools = capabilities_of(info).tools if info else None
        lacks = tools is not None and tools.value is False
        return "react" if lacks else "native"

    def learn_from(self, ref: ModelRef, error: AIError) -> bool:
        """Remember that a model refused native tools; return False if it did not."""
        if error.known_code is not ErrorCode.UNSUPPORTED_FEATURE:
            return False
        details = error.details
        if not refuses_tools(
            error.message,
            code=details.get("server_code"),
            param=details.get("param"),
            refused=strings(details.get("refused")),
        ):
            return False
        self._learned[str(ref)] = "react"
        if self._remember is not None:
            self._remember(str(ref), "react")
        return True

    def learn(self, address: str, mode: ToolMode) -> None:
        """Use the mode that a check has shown to be the best."""
        self._learned[address] = mode
