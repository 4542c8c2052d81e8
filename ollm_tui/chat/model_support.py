"""A model's abilities: whether it has vision, and how its tools are described to it.

What a person set counts first, then a server's refusal, then the listing; the unknown is tried.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import anyio

from ollm_tui.chat.prompt import newest_turns
from ollm_tui.decode.json_fields import strings
from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.protocol.blocks import AudioContent, ImageContent, VideoContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import SupportsList, SupportsShow
from ollm_tui.providers.operations import list_models, show_model
from ollm_tui.providers.refusals import refuses_tools
from ollm_tui.providers.router import ResolvedModel, same_model

PATIENCE_S: Final = 2.0
"""How long to wait for a server before the image is sent anyway."""


class VisionSupport:
    """Which models have vision; each server is queried once per model."""

    def __init__(self) -> None:
        self._listed: dict[str, bool | None] = {}
        self._refused: set[str] = set()

    async def is_text_only(self, resolved: ResolvedModel) -> bool:
        """Whether a model is known to lack vision; False if that is not known.

        Queries the server once, if nothing is known, and waits at most `PATIENCE_S`.
        """
        known = self.known(resolved)
        if known is None and str(resolved.ref) not in self._listed:
            known = self._listed[str(resolved.ref)] = await _ask(resolved)
        return known or False

    def known(self, resolved: ResolvedModel) -> bool | None:
        """Return what is known without asking, or None if nothing is."""
        address = str(resolved.ref)
        if address in self._refused:
            return True
        declared = _only_text(resolved.info)
        return self._listed.get(address) if declared is None else declared

    def learn_from(self, ref: ModelRef, error: AIError) -> bool:
        """Remember that a model refused images; return False if the error is about something else.

        A refusal overrides the listing, which may describe the model and not the server.
        """
        if error.known_code is not ErrorCode.UNSUPPORTED_MODALITY or error.status is None:
            return False
        self._refused.add(str(ref))
        return True


async def _ask(resolved: ResolvedModel) -> bool | None:
    provider, name = resolved.provider, resolved.ref.model
    with anyio.move_on_after(PATIENCE_S):
        try:
            if isinstance(provider, SupportsShow):
                return _only_text(await show_model(provider, name))
            if isinstance(provider, SupportsList):
                models = await list_models(provider)
                return next((_only_text(m) for m in models if same_model(name, m.name)), None)
        except AIError:  # the request itself reports what is wrong with the server
            return None
    return None


def _only_text(info: ModelInfo | None) -> bool | None:
    capability = info.capability if info else None
    if capability is None or not capability.input:
        return None
    return "image" not in capability.input


def count_pictures(history: Sequence[Message], turns_left_out: int = 0) -> int:
    """Count the pictures that would be sent."""
    return sum(
        isinstance(block, ImageContent)
        for message in newest_turns(history, turns_left_out)
        if message.role != "assistant"  # what a model made is never sent
        for block in message.content
    )


def require_words(history: Sequence[Message], model: str) -> None:
    """Raise UNSUPPORTED_MODALITY if the newest prompt has nothing but images."""
    newest = next(m for m in reversed(history) if m.role == "user")
    if all(isinstance(b, ImageContent | AudioContent | VideoContent) for b in newest.content):
        raise AIError(
            ErrorCode.UNSUPPORTED_MODALITY,
            f"{model} accepts text only, and the message has only a picture.",
            hint="Add some text, or choose a model with vision.",
        )


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
