"""ReAct on the wire: tools described in text, results as observations, history as its steps; pure.

The history keeps ordinary calls and results, so that models can be switched in mid-chat.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ollm_tui.chat.prompt import joined_questions, results_after
from ollm_tui.decode.json_guard import BadJson, dump_json, parse_json
from ollm_tui.decode.react_call import ReActProblem
from ollm_tui.protocol.blocks import Block, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolSchema

STOP_SEQUENCES: Final = ("\nObservation:",)
"""Where the model has to wait for a result; labels count at the start of a line only."""

_NO_PARAMETERS: Final[Mapping[str, JsonValue]] = {"type": "object", "properties": {}}
_FORMAT: Final = """\
To use a tool, write exactly these lines and then stop:

Thought: why a tool is needed
Action: the name of one tool
Action Input: its arguments, as one JSON object ({} if it takes none)

The result then comes to you as a line that begins with "Observation:". Never write such a line \
yourself. After a result you may think and use a tool again, one at a time.

When no tool is needed any more, or none was needed at all, write:

Thought: what you know now
Final Answer: the answer for the user"""
_AGAIN: Final = 'Write "Action:" and "Action Input:" for a tool, or "Final Answer:" for the answer.'


def react_instructions(tools: Sequence[ToolSchema]) -> str:
    """Describe the tools and how to use them; empty if there are none."""
    if not tools:
        return ""
    listed = "\n".join(map(_described, tools))
    return f"You have these tools:\n\n{listed}\n\n{_FORMAT}"


def correction(problem: ReActProblem) -> str:
    """Return what was wrong with a turn, for the model to correct."""
    match problem:
        case "bad_input":
            return (
                "Error: Action Input must be valid JSON: one object, with double quotes around "
                "names and texts. Write the Thought, Action and Action Input again."
            )
        case "missing_input":
            return (
                'Error: the Action has no Action Input. Write both again; "Action Input: {}" '
                "if the tool takes no arguments."
            )
        case "missing_action":
            return 'Error: no tool is named. Write "Action:" with one name, then "Action Input:".'
        case "no_answer":
            return f"Error: there is neither an Action nor a Final Answer. {_AGAIN}"
        case "empty":
            return f"Error: the reply is empty. {_AGAIN}"


def as_react(messages: Sequence[Message], *, marks_answers: bool = True) -> tuple[Message, ...]:
    """Render calls and results as Thought, Action and Observation.

    With `marks_answers` earlier answers are marked as final, for a model that has the ReAct
    instructions: models continue in the form that they see.

    Several calls of one turn become one step after the other, each with its own result. Results
    and questions in a row become one message, since some chat templates take no two.
    """
    return tuple(joined_questions(_steps(messages, marks_answers)))


def _steps(messages: Sequence[Message], marks_answers: bool) -> Iterator[Message]:
    results: dict[str, Message] = {}
    for position, message in enumerate(messages):
        if message.role == "assistant" and message.tool_calls:
            results = results_after(messages, position)
            yield from _rendered_calls(message, results)
        elif message.role == "assistant" and marks_answers:
            yield _rendered_answer(message)
        elif message.role == "tool":
            if message.tool_call_id not in results:
                yield _rendered_result(message)
        else:
            results = {}
            yield message


def _rendered_calls(message: Message, results: Mapping[str, Message]) -> Iterator[Message]:
    thought = message.text.strip() or _thinking(message)
    for call in message.tool_calls:
        lines = [f"Thought: {thought}"] if thought else []
        thought = ""
        written = call.raw_args if call.args is None else dump_json(call.args)
        lines += [f"Action: {call.name}", f"Action Input: {written}"]
        yield Message("assistant", "\n".join(lines))
        if call.id in results:
            yield _rendered_result(results[call.id])


def _rendered_answer(message: Message) -> Message:
    kept = [block for block in message.content if not isinstance(block, ThinkingContent)]
    if not message.text:
        return message
    first = kept.index(next(block for block in kept if isinstance(block, TextContent)))
    kept.insert(first, TextContent("Final Answer: "))
    return replace(message, content=tuple(kept))


def _rendered_result(message: Message) -> Message:
    text = observation(message.text, is_error=message.metadata.get("is_error") is True)
    others = [b for b in message.content if not isinstance(b, TextContent | ThinkingContent)]
    content: list[Block] = [TextContent(text), *others]
    return Message("user", content)


def observation(content: str, *, is_error: bool) -> str:
    """Return a tool's result as one line for the model."""
    if is_error:
        return f"Observation: {dump_json({'error': content})}"
    try:
        value = parse_json(content, unique_keys=True)
    except BadJson:
        value = content
    return f"Observation: {dump_json(value)}"


def _thinking(message: Message) -> str:
    parts = [block.text for block in message.content if isinstance(block, ThinkingContent)]
    return "\n\n".join(parts).strip()


def _described(tool: ToolSchema) -> str:
    what = " ".join((tool.description or "").split())
    parameters: JsonObject = tool.parameters or dict(_NO_PARAMETERS)
    return f"- {tool.name}{': ' if what else ''}{what}\n  Parameters: {dump_json(parameters)}"
