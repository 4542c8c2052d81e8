"""How adapters switch a model's thinking, and which tags they look for in its answer; pure."""

from dataclasses import replace
from typing import Final

from ollm_tui.decode.json_fields import as_object
from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.models.thinking import thinking_refusal
from ollm_tui.models.thinking_tags import tags_of
from ollm_tui.protocol.blocks import TextContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.request import Request, ThinkingPlan, plan_of

TEMPLATE_ARGUMENTS: Final = "chat_template_kwargs"
USUAL_VARIABLE: Final = "enable_thinking"
"""The variable of most templates, for a model of which nothing is known."""


def tags_for(request: Request, *, is_divided: bool = False) -> ThinkTags:
    """Return the thinking tags to look for in an answer; unusable ones become the usual pairs.

    `is_divided`: the server takes out the thinking that the model's chat template opens. That
    counts for what is known of the model, not for what the request itself says of the stream.
    """
    plan = _as_sent(request, plan_of(request))
    try:
        return tags_of(plan, is_divided=is_divided and request.thinking is not None)
    except AIError:
        return ThinkTags()


def _as_sent(request: Request, plan: ThinkingPlan) -> ThinkingPlan:
    """Return the plan in the mode that the request's own template arguments choose, if they do."""
    given = as_object((request.options.extra_body or {}).get(TEMPLATE_ARGUMENTS))
    is_on = given.get(variable_of(plan) or "")
    if is_on is False:
        return replace(plan, mode="off")
    return replace(plan, mode="deep") if is_on is True and plan.mode == "off" else plan


def variable_of(plan: ThinkingPlan) -> str | None:
    """Return the variable of the chat template that switches thinking; None if there is none."""
    return USUAL_VARIABLE if plan.switch is None else plan.switch.variable


def words_of(plan: ThinkingPlan) -> str | None:
    """Return the words in the prompt that switch thinking as the plan says, if there are any."""
    if plan.switch is None or plan.is_on is None:
        return None
    return plan.switch.on_text if plan.is_on else plan.switch.off_text


def with_words(request: Request, plan: ThinkingPlan) -> Request:
    """Return the request with the words that switch thinking, where the model looks for them."""
    words = words_of(plan)
    if words is None or plan.switch is None:
        return request
    if plan.switch.text_in == "system":
        rest = f"\n\n{request.system_prompt}" if request.system_prompt else ""
        return replace(request, system_prompt=f"{words}{rest}")
    messages = list(request.conversation)
    for at, message in reversed([*enumerate(messages)]):
        if message.role == "user":
            content = (*message.content, TextContent(f" {words}"))
            messages[at] = replace(message, content=content)
            return replace(request, messages=messages)
    return request


def is_left_out(request: Request, plan: ThinkingPlan) -> bool:
    """Return whether what an adapter cannot switch has to be reported: not if it is so unasked.

    Raises:
        AIError: UNSUPPORTED_FEATURE if the request itself wants it.
    """
    if plan.is_default:
        return False
    if request.should_think is not None:
        raise no_switch(plan)
    return True  # a default of the user's: else no prompt would have an answer


def no_switch(plan: ThinkingPlan) -> AIError:
    """Return the error for a switch that an adapter does not know."""
    mode = "on" if plan.is_on else "off"
    if plan.switch is None:
        return thinking_refusal(
            f"How this server switches thinking {mode} is not known.",
            "Leave thinking as it is, or set the server's own field through extra_body.",
        )
    return thinking_refusal(
        f"This server has no way to switch {mode} the thinking of this model.",
        "Leave it as it is with /think none, or set the server's own field in extra_body.",
    )
