"""What of a request an adapter refuses before anything is sent, and what it leaves out; pure.

Every field that is not listed here as supported must have its default.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, TypeAlias, get_args

from ollm_tui.models.thinking_tags import find_tags
from ollm_tui.protocol.blocks import TextContent, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.message import (
    ACCEPTED,
    JINJA,
    Message,
    has_template_marks,
    is_template,
)
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import (
    Request,
    ShouldThink,
    ThinkingConfig,
    ThinkingEffort,
    ThinkingMode,
)
from ollm_tui.protocol.sent_messages import Test, selected
from ollm_tui.protocol.tools import ToolChoice, ToolName

_REQUEST = frozenset(
    {"model", "messages", "input", "system_prompt", "tools", "tool_choice", "should_think",
     "thinking", "options", "stream", "state_folder", "signal"}
)  # fmt: skip
_MESSAGE = frozenset(field.name for field in fields(Message) if field.metadata == ACCEPTED)
_TEMPLATES = frozenset({"template_format", "template_values"})
_IS_ALL_KNOWN = (_MESSAGE | _TEMPLATES).issuperset(field.name for field in fields(Message))
_THINKING = frozenset({"mode", "effort", "think_tag", "answer_tag", "starts_open"})
_SEVERAL = frozenset({"n", "n_cmpl", "candidate_count"})
_OTHER_KINDS: Mapping[str, str] = {
    "audio": "Speech as an answer",
    "modalities": "An answer of another kind than text",
    "suffix": "Filling in the middle of a text",
    "input_prefix": "Filling in the middle of a text",
    "input_suffix": "Filling in the middle of a text",
}
"""Keys of a body that request an answer which no adapter can read."""
REFUSED_KEYS = _SEVERAL | frozenset(_OTHER_KINDS)
"""Keys that `extra_body` must not have."""
OnLeftOut: TypeAlias = Callable[[LeftOut], object]
"""Called, for every request, with each field that is set and not sent."""
UNSENT_OPTIONS: Mapping[str, frozenset[str]] = {
    "ollama": frozenset(),
    "openai-compatible": frozenset({"num_ctx", "keep_alive"}),
    "openai": frozenset({"top_k", "min_p", "repeat_penalty", "num_ctx", "keep_alive"}),
    "anthropic": frozenset(
        {
            "min_p",
            "repeat_penalty",
            "presence_penalty",
            "frequency_penalty",
            "seed",
            "num_ctx",
            "keep_alive",
        }
    ),
}
"""By kind of provider, the options that its protocol does not have."""


def _has_name(message: Message) -> bool:
    return bool(message.name) and message.role != "tool"


UNSENT_MESSAGE_FIELDS: Mapping[str, Mapping[str, Test]] = {
    "anthropic": {"name": _has_name},
    "ollama": {"name": _has_name},
}
"""By kind of provider, the fields of a message that its protocol does not have, and whether a
message has one."""


def check_request(request: Request, template_formats: Collection[str] = ()) -> None:
    """Check a chat request.

    `template_formats` are the names of the template languages that the engine renders itself: a
    request may name the one that is used anyway. Texts that are templates were rendered before, by
    a chat or the router.

    Raises:
        AIError: UNSUPPORTED_FEATURE or UNSUPPORTED_MODALITY for what is not implemented;
            BAD_REQUEST for a choice of a tool that is not offered, unusable tags, or an unknown
            word.
    """
    if request.input is not None:
        raise _no_conversation(request)
    _check_rendered(request, template_formats)
    _check_fields(request, _REQUEST | _TEMPLATES, "a request")
    _check_messages(request.conversation)
    if request.thinking is None:
        check_thinking(request.should_think)
    _check_choice(request)
    _check_body(request.options.extra_body or {})


def report_unsent(request: Request, kind: str, on_left_out: OnLeftOut) -> None:
    """Report what a checked request sets that the protocol of this kind does not have."""
    unsent, options = UNSENT_OPTIONS[kind], request.options
    for field in fields(options):
        if field.name in unsent and _is_set(options, field):
            report_left_out(field.name, on_left_out)
    for name, is_set in UNSENT_MESSAGE_FIELDS.get(kind, {}).items():
        if selected(request.conversation, is_set):
            report_left_out(f"messages.{name}", on_left_out)


def check_thinking(wish: ShouldThink | None) -> None:
    """Check what a request wants of thinking that no chat has resolved.

    The mode `last` of a `ThinkingConfig` switches thinking on; as a word of its own it requests
    the reasons after the answer, for which a chat instructs a model.

    Raises:
        AIError: UNSUPPORTED_FEATURE for what only a chat does, BAD_REQUEST for unusable tags
            and unknown words.
    """
    mode = wish.mode if isinstance(wish, ThinkingConfig) else wish
    if not (mode is None or isinstance(mode, bool)):
        _check_word(mode, get_args(ThinkingMode), "thinking mode")
    if wish == "last":
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            "Whether this model can think after its answer is not known.",
            hint="Use on, or declare the mode `last` in a family or beside the model's file.",
        )
    if isinstance(wish, ThinkingConfig):
        if wish.effort is not None:
            _check_word(wish.effort, get_args(ThinkingEffort), "effort of thinking")
        _check_thinking_fields(wish)
        find_tags(wish.think_tag, wish.answer_tag, mode=wish.mode, starts_open=wish.starts_open)


def _check_thinking_fields(wish: ThinkingConfig) -> None:
    for field in fields(wish):
        if field.name not in _THINKING and _is_set(wish, field):
            raise AIError(
                ErrorCode.UNSUPPORTED_FEATURE,
                f"`{field.name}` in settings of thinking is acted on by chats only.",
                hint="Ask through a ChatClient, or leave it out.",
            )


def check_input(
    request: Request,
    what: str,
    output: str,
    options: Collection[str] = (),
    more: Collection[str] = (),
) -> None:
    """Check a request with an input: `what` is made of it, such as embeddings.

    `options` are those that the server takes beside the keys of `extra_body`; `more` are fields of
    the request that only this kind of input has.

    Raises:
        AIError: UNSUPPORTED_FEATURE.
    """
    place = f"a request for {what}"
    if request.output not in (None, output):
        raise _unsupported("output", place)
    for name in ("system_prompt", "tools", "tool_choice", "thinking"):
        if getattr(request, name) not in (None, ()):
            raise _unsupported(name, place)
    if request.should_think not in (None, False, "off"):
        raise _unsupported("should_think", place)
    _check_fields(request, _REQUEST | {"output", *more}, "a request")
    _check_fields(request.options, {"extra_body", *options}, place)


def _no_conversation(request: Request) -> AIError:
    blocks = normalize_content(request.input or "")
    other = next((block.type for block in blocks if not isinstance(block, TextContent)), None)
    if other is not None:
        return AIError(
            ErrorCode.UNSUPPORTED_MODALITY,
            f"Requests with an input of the type {other} are not implemented.",
            hint="Send it in a message to a model that takes it.",
        )
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        "A chat takes messages; a request with an input is no chat.",
        hint="Send messages, or call `invoke` with `output`.",
    )


def _check_fields(value: Any, acted_on: Collection[str], what: str) -> None:
    for field in fields(value):
        if field.name not in acted_on and _is_set(value, field):
            raise _unsupported(field.name, what)


def _check_messages(messages: Sequence[Message]) -> None:
    """Check the fields of messages; those of most classes are all known."""
    for message in selected(messages, _has_other_fields):
        _check_fields(message, _MESSAGE | _TEMPLATES, "a message")


def _has_other_fields(message: Message) -> bool:
    return type(message) is not Message or not _IS_ALL_KNOWN


def _is_set(value: object, field: "Field[Any]") -> bool:
    default = None if field.default is MISSING else field.default
    return bool(getattr(value, field.name) != default)


def _unsupported(name: str, what: str) -> AIError:
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"`{name}` in {what} is not implemented.",
        hint="Leave it out.",
    )


def _check_word(word: str, known: Collection[str], what: str) -> None:
    if word not in known:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"There is no {what} {word!r}.",
            hint=f"Available: {', '.join(known)}.",
        )


def _check_rendered(request: Request, known: Collection[str]) -> None:
    """Refuse templates that are still to be rendered, and formats that the engine does not read."""
    texts = [(request.template_format, request.system_prompt or "")]
    marked = selected(request.conversation, is_template)
    texts += [(message.template_format, message.text) for message in marked]
    is_left = request.template_values is not None or any(
        name is not None and has_template_marks(text) for name, text in texts
    )
    named = next((name for name, _ in texts if name is not None and name not in known), None)
    if is_left or (named in JINJA and not known):
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            "A provider renders no templates in messages; a chat and the router do.",
            hint="Call `chat`, `ask` or `router.invoke`, or leave `template_format` out.",
        )
    if named is not None:
        offer = f", or use {' or '.join(sorted(known))}" if known else ""
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"This engine renders no template in the format {named[:40]!r}.",
            hint=f"Leave `template_format` out{offer}.",
        )


def _check_choice(request: Request) -> None:
    choice = request.tool_choice
    if choice is not None and not isinstance(choice, ToolName):
        _check_word(choice, get_args(get_args(ToolChoice)[0]), "choice of tools")
    names = {tool.name for tool in request.tools}
    if isinstance(choice, ToolName) and choice.name not in names:
        raise AIError(
            ErrorCode.BAD_REQUEST, f"The tool {choice.name} is to be called, but is not on offer."
        )
    if choice == "required" and not names:
        raise AIError(ErrorCode.BAD_REQUEST, "A tool is to be called, but none is on offer.")


def _check_body(body: JsonMapping) -> None:
    for key, value in body.items():
        if key in _SEVERAL and value not in (None, 1):
            raise AIError(
                ErrorCode.UNSUPPORTED_FEATURE,
                f"A stream of a chat has one answer (`{key}`).",
                hint="Call `invoke` with `n`, or ask again for another answer.",
            )
        if key in _OTHER_KINDS and value not in (None, "", ["text"]):
            raise AIError(
                ErrorCode.UNSUPPORTED_MODALITY,
                f"{_OTHER_KINDS[key]} (`{key}`) is not implemented.",
                hint=f"Take `{key}` out of extra_body.",
            )


def ignore_left_out(event: LeftOut) -> None:
    """Report nothing: for requests that only count tokens."""


def report_left_out(name: str, on_left_out: OnLeftOut) -> None:
    """Report that the server's protocol does not have a field."""
    reason = AIError(
        ErrorCode.UNSUPPORTED_FEATURE, f"The protocol of this server has no place for `{name}`."
    )
    on_left_out(LeftOut(name, reason))
