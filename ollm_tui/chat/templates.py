"""The templates of a chat: messages that are marked as such, and its system prompt.

A message is rendered once, before its prompt is sent, and the history keeps the text that the model
got: a retry, a saved chat and a branch send it as it is. The system prompt is a setting, and is
rendered for each prompt anew.
"""

from collections.abc import Sequence
from dataclasses import replace

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.providers.router import ResolvedModel


async def rendered_texts(
    conversation: Conversation, options: ChatOptions, parts: ChatParts, resolved: ResolvedModel
) -> tuple[Sequence[Message], ChatOptions]:
    """Return the messages, and options with the system prompt, after rendering what is a template.

    Raises:
        AIError: a template cannot be rendered.
    """
    messages = conversation.messages
    text = system_prompt_of(conversation, options)
    if not (messages or text):
        return messages, options
    request = Request(
        model=resolved.ref.model,
        messages=conversation.sent_history.whole(messages),
        system_prompt=text,
        template_format=_language(conversation, options),
        template_values=options.template_values,
    )
    if not request.names_templates:
        return messages, options
    if parts.render is None:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            "This chat has nothing that renders templates.",
            hint="Leave `template_format` out, or begin the chat by a runtime.",
        )
    rendered = await parts.render(request, resolved.info)
    if text == conversation.system_prompt and conversation.system_prompt_format is not None:
        source = conversation.system_template
        shown = rendered.system_prompt or ""
        conversation.rendered_system = None if source is None else (source, shown)
    plain = replace(
        options,
        system_prompt=rendered.system_prompt or "",
        template_format=rendered.template_format,
        template_values=None,
    )
    return rendered.conversation, plain


def options_for_counting(conversation: Conversation) -> ChatOptions:
    """Return options with the system prompt as it was rendered last; nothing is rendered."""
    source, text = conversation.rendered_system or (None, None)
    is_it = conversation.system_prompt_format is not None and source == conversation.system_template
    return ChatOptions(system_prompt=text if is_it else None)


def system_prompt_of(conversation: Conversation, options: ChatOptions) -> str | None:
    """Return the system prompt of one prompt: that of its options, else that of the chat."""
    if options.system_prompt is None:
        return conversation.system_prompt
    return options.system_prompt


def _language(conversation: Conversation, options: ChatOptions) -> str | None:
    """Return the language in which the system prompt is a template."""
    is_own = options.system_prompt is not None or options.template_format is not None
    return options.template_format if is_own else conversation.system_prompt_format
