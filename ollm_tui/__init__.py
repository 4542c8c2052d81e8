"""ollm_tui: a terminal chat over an embedded runtime for language models anywhere.

The names of `__all__` are the public interface; `docs/guides/library.md` shows how to use them.
Each is imported when it is used, so that `import ollm_tui` costs nothing.
"""

# Type checkers take it for true; `typing` itself would load 26 modules.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.chat.compaction import Compaction
    from ollm_tui.chat.conversation import Conversation
    from ollm_tui.chat.prompt import ChatOptions
    from ollm_tui.commands.host import CommandContext
    from ollm_tui.commands.registry import Command, Completion, command
    from ollm_tui.protocol import provider_events
    from ollm_tui.protocol.blocks import (
        AudioContent,
        Block,
        Content,
        DocumentContent,
        EmbeddingContent,
        ImageContent,
        TextContent,
        ThinkingContent,
        UnknownContent,
        VideoContent,
    )
    from ollm_tui.protocol.chat_events import (
        ChatEvent,
        Compacted,
        ContextWarning,
        ErrorEvent,
        Finish,
        MediaDelta,
        NoAnswer,
        PicturesLeftOut,
        PromptProgress,
        Retrying,
        StructuredAnswer,
        TextDelta,
        ThinkingDelta,
        ToolCallOutput,
        ToolCallResult,
        ToolCallStart,
        TurnComplete,
        Withdrawn,
    )
    from ollm_tui.protocol.errors import AIError, ErrorCode
    from ollm_tui.protocol.media_ports import (
        SupportsDrawingJobs,
        SupportsInfill,
        SupportsMusic,
        SupportsVideo,
        SupportsVideoJobs,
    )
    from ollm_tui.protocol.message import Message, Timings, Usage
    from ollm_tui.protocol.model import (
        ModelCapability,
        ModelDraft,
        ModelInfo,
        ModelRef,
        PullProgress,
    )
    from ollm_tui.protocol.ports import (
        Approver,
        ProviderAdapter,
        ProviderStream,
        SupportsCopy,
        SupportsCreate,
        SupportsDelete,
        SupportsDispose,
        SupportsEmbed,
        SupportsInitialize,
        SupportsList,
        SupportsLoad,
        SupportsLoadFor,
        SupportsPictures,
        SupportsPromptText,
        SupportsPull,
        SupportsPush,
        SupportsQuantize,
        SupportsRunning,
        SupportsSegments,
        SupportsShow,
        SupportsSpeech,
        SupportsTextTokenCount,
        SupportsTokenCount,
        SupportsTranscription,
        SupportsUnload,
        SupportsVersion,
        SupportsWindow,
        Tool,
    )
    from ollm_tui.protocol.provider_events import DrawingProgress
    from ollm_tui.protocol.request import (
        GenerationOptions,
        PromptText,
        PromptToken,
        Request,
        Response,
        ThinkingConfig,
    )
    from ollm_tui.protocol.signals import AbortSignal
    from ollm_tui.protocol.tools import (
        Approval,
        ToolCall,
        ToolName,
        ToolOutput,
        ToolResult,
        ToolSchema,
    )
    from ollm_tui.providers.base import BaseProvider
    from ollm_tui.providers.registry import ProviderRegistry
    from ollm_tui.providers.router import Router
    from ollm_tui.providers.spec import ProviderSpec
    from ollm_tui.runtime.public import Runtime, open_runtime
    from ollm_tui.tools.define import ToolFailure, tool

__version__ = "0.1.0"
__all__ = [
    "AIError",
    "AbortSignal",
    "Approval",
    "Approver",
    "AudioContent",
    "BaseProvider",
    "Block",
    "ChatClient",
    "ChatEvent",
    "ChatOptions",
    "Command",
    "CommandContext",
    "Compacted",
    "Compaction",
    "Completion",
    "Content",
    "ContextWarning",
    "Conversation",
    "DocumentContent",
    "DrawingProgress",
    "EmbeddingContent",
    "ErrorCode",
    "ErrorEvent",
    "Finish",
    "GenerationOptions",
    "ImageContent",
    "MediaDelta",
    "Message",
    "ModelCapability",
    "ModelDraft",
    "ModelInfo",
    "ModelRef",
    "NoAnswer",
    "PicturesLeftOut",
    "PromptProgress",
    "PromptText",
    "PromptToken",
    "ProviderAdapter",
    "ProviderRegistry",
    "ProviderSpec",
    "ProviderStream",
    "PullProgress",
    "Request",
    "Response",
    "Retrying",
    "Router",
    "Runtime",
    "StructuredAnswer",
    "SupportsCopy",
    "SupportsCreate",
    "SupportsDelete",
    "SupportsDispose",
    "SupportsDrawingJobs",
    "SupportsEmbed",
    "SupportsInfill",
    "SupportsInitialize",
    "SupportsList",
    "SupportsLoad",
    "SupportsLoadFor",
    "SupportsMusic",
    "SupportsPictures",
    "SupportsPromptText",
    "SupportsPull",
    "SupportsPush",
    "SupportsQuantize",
    "SupportsRunning",
    "SupportsSegments",
    "SupportsShow",
    "SupportsSpeech",
    "SupportsTextTokenCount",
    "SupportsTokenCount",
    "SupportsTranscription",
    "SupportsUnload",
    "SupportsVersion",
    "SupportsVideo",
    "SupportsVideoJobs",
    "SupportsWindow",
    "TextContent",
    "TextDelta",
    "ThinkingConfig",
    "ThinkingContent",
    "ThinkingDelta",
    "Timings",
    "Tool",
    "ToolCall",
    "ToolCallOutput",
    "ToolCallResult",
    "ToolCallStart",
    "ToolFailure",
    "ToolName",
    "ToolOutput",
    "ToolResult",
    "ToolSchema",
    "TurnComplete",
    "UnknownContent",
    "Usage",
    "VideoContent",
    "Withdrawn",
    "__version__",
    "command",
    "open_runtime",
    "provider_events",
    "tool",
]
_HOMES = {
    "chat.client": "ChatClient",
    "chat.compaction": "Compaction",
    "chat.conversation": "Conversation",
    "chat.prompt": "ChatOptions",
    "commands.host": "CommandContext",
    "commands.registry": "Command Completion command",
    "protocol": "provider_events",
    "protocol.blocks": (
        "AudioContent Block Content DocumentContent EmbeddingContent ImageContent TextContent "
        "ThinkingContent UnknownContent VideoContent"
    ),
    "protocol.chat_events": (
        "ChatEvent Compacted ContextWarning ErrorEvent Finish MediaDelta NoAnswer PicturesLeftOut "
        "PromptProgress Retrying StructuredAnswer TextDelta ThinkingDelta ToolCallOutput "
        "ToolCallResult ToolCallStart TurnComplete Withdrawn"
    ),
    "protocol.errors": "AIError ErrorCode",
    "protocol.media_ports": (
        "SupportsDrawingJobs SupportsInfill SupportsMusic SupportsVideo SupportsVideoJobs"
    ),
    "protocol.message": "Message Timings Usage",
    "protocol.model": "ModelCapability ModelDraft ModelInfo ModelRef PullProgress",
    "protocol.ports": (
        "Approver ProviderAdapter ProviderStream SupportsCopy SupportsCreate SupportsDelete "
        "SupportsDispose SupportsEmbed SupportsInitialize SupportsList "
        "SupportsLoad SupportsLoadFor SupportsPictures SupportsPromptText SupportsPull "
        "SupportsPush SupportsQuantize SupportsRunning SupportsSegments SupportsShow "
        "SupportsSpeech SupportsTextTokenCount SupportsTokenCount SupportsTranscription "
        "SupportsUnload SupportsVersion SupportsWindow Tool"
    ),
    "protocol.provider_events": "DrawingProgress",
    "protocol.request": "GenerationOptions PromptText PromptToken Request Response ThinkingConfig",
    "protocol.signals": "AbortSignal",
    "protocol.tools": "Approval ToolCall ToolName ToolOutput ToolResult ToolSchema",
    "providers.base": "BaseProvider",
    "providers.registry": "ProviderRegistry",
    "providers.router": "Router",
    "providers.spec": "ProviderSpec",
    "runtime.public": "Runtime open_runtime",
    "tools.define": "ToolFailure tool",
}
"""Modules below this one, and the public names in each."""

# Hidden from type checkers, which would take every name for a public one.
if not TYPE_CHECKING:

    def __getattr__(name):
        """Import a public name when it is used."""
        # `import ollm_tui` by itself loads one module.
        from ollm_tui.lazy import lazy_names

        homes = {module: names.split() for module, names in _HOMES.items()}
        return lazy_names(__name__, homes)(name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
