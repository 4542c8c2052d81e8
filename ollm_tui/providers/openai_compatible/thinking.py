"""The fields of a chat body that switch a model's thinking, and its effort; pure.

In this order, whichever there is first: the variable of the chat template, words in the prompt,
and to switch it off a blank block of thinking that the server continues as its own answer.
"""

from dataclasses import replace

from ollm_tui.dataclass import dataclass
from ollm_tui.models.thinking_switch import (
    TEMPLATE_ARGUMENTS,
    is_left_out,
    variable_of,
    with_words,
    words_of,
)
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request, ThinkingPlan, plan_of


@dataclass(frozen=True, slots=True)
class Switched:
    """A request with what switches thinking in its prompt, and the fields beside it."""

    request: Request
    fields: JsonObject
    is_lost: bool = False
    """Whether nothing tells the server what was wanted."""


def switched(
    request: Request, *, takes_variables: bool, continuing: JsonMapping | None
) -> Switched:
    """Switch thinking as the request's plan says.

    `takes_variables`: the server passes variables to the model's template. `continuing`: the
    fields with which it continues an answer that the request begins; None if it does not.

    Raises:
        AIError: UNSUPPORTED_FEATURE if nothing switches it, and the model does otherwise by
            default.
    """
    plan = plan_of(request)
    if plan.is_on is None:
        return Switched(request, {})
    fields: JsonObject = {"reasoning_effort": plan.effort} if plan.effort else {}
    variables = _variables(plan) if takes_variables else {}
    if variables:
        fields[TEMPLATE_ARGUMENTS] = variables
    if takes_variables and variable_of(plan):
        return Switched(request, fields)
    if words_of(plan) is not None:
        return Switched(with_words(request, plan), fields)
    if plan.is_on and (plan.is_default or plan.instructions):
        return Switched(request, fields)
    if plan.is_on and (fields or plan.switch is None):
        return Switched(request, fields, is_lost=not fields)
    return _begun(request, plan, fields, continuing)


def official_fields(plan: ThinkingPlan) -> JsonObject:
    """Return the fields of OpenAI's own API."""
    if plan.is_on is False:
        return {"reasoning_effort": "none"}
    return {"reasoning_effort": plan.effort} if plan.is_on and plan.effort else {}


def _variables(plan: ThinkingPlan) -> JsonObject:
    variables: JsonObject = {}
    if (name := variable_of(plan)) is not None:
        variables[name] = plan.is_on
    if plan.effort and plan.switch is not None and plan.switch.effort_variable:
        variables[plan.switch.effort_variable] = plan.effort
    return variables


def _begun(
    request: Request, plan: ThinkingPlan, fields: JsonObject, continuing: JsonMapping | None
) -> Switched:
    """Begin the answer with a blank block of thinking, if the server continues it."""
    blank = plan.switch.blank if plan.switch is not None else None
    if plan.is_on or blank is None or continuing is None:
        return Switched(request, fields, is_lost=is_left_out(request, plan))
    begun = replace(request, messages=(*request.conversation, Message("assistant", blank)))
    return Switched(begun, fields | dict(continuing))
