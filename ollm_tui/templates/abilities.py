"""What a chat template supports: a jinja template is tried out, one of Ollama's is read.

What is tried are short conversations with words that no template contains; an ability is there if
the words come out.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.thinking import mentions_thinking
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.templates.conversation import USUAL_VARIABLES, variants
from ollm_tui.templates.go_template import fields_of, thinking_tags
from ollm_tui.templates.renderer import Refusal, Rendered, TemplateRenderer

TemplateFormat: TypeAlias = Literal["hf", "golang"]
"""The languages of templates: jinja as Hugging Face has it, and Go's as Ollama has it."""
FORMAT_NAMES: Final[dict[str, TemplateFormat]] = {
    "hf": "hf", "jinja2": "hf", "jinja": "hf", "golang": "golang", "go": "golang",
}  # fmt: skip
"""The names that people write, in requests and model files."""
_CALL_ID: Final = "abcdefghi"
"""Nine letters: some templates of Mistral refuse every other form."""
_NOW: Final = "2026-01-01T00:00:00"
"""The clock stands still, so that texts differ only by what is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateAbilities:
    """What a template supports; None if it could not be found out."""

    tools: bool | None = None
    system: bool | None = None
    """Whether it has a system role; without one the text goes in front of the first question."""
    thinking: bool | None = None
    parallel_calls: bool | None = None
    """Whether one answer may hold several calls."""
    thinking_switch: bool | None = None
    """Whether `enable_thinking` changes the prompt."""
    starts_thinking: bool | None = None
    """Whether the prompt ends in an opened thinking block."""
    documents: bool | None = None
    problem: str | None = None
    """Why it cannot be rendered at all."""


def template_format(template: str) -> TemplateFormat | None:
    """Tell in which language a template is written; None if it has neither."""
    if "{%" in template:
        return "hf"
    if "{{" not in template:
        return None
    return "golang" if fields_of(template) else "hf"


async def template_abilities(renderer: TemplateRenderer, template: str) -> TemplateAbilities:
    """Return what a template supports.

    Raises:
        AIError: no process for rendering can be started.
    """
    # Templates come from strangers, and may be long.
    if await to_thread.run_sync(template_format, template) == "golang":
        return await to_thread.run_sync(abilities_of_go, template)
    forms = [(name, form) for name, probe in _probes().items() for form in variants(probe)]
    texts = await renderer.render_all(template, [form for _, form in forms], now=_NOW)
    by_name: dict[str, list[Rendered]] = {}
    for (name, _), text in zip(forms, texts, strict=True):
        by_name.setdefault(name, []).append(text)
    plain = next((text for text in by_name["plain"] if isinstance(text, str)), None)
    if plain is None:
        (refusal, *_) = (text for text in by_name["plain"] if isinstance(text, Refusal))
        return TemplateAbilities(problem=refusal.reason)
    return _read(template, by_name, plain)


def abilities_of_go(template: str) -> TemplateAbilities:
    """Read one of Ollama's templates as Ollama does: mentioned tools, thinking between tags."""
    fields = fields_of(template)
    has_messages = "messages" in fields
    return TemplateAbilities(
        tools="tools" in fields,
        system="system" in fields or has_messages,
        thinking=all(thinking_tags(template)),
        parallel_calls="toolcalls" in fields if "tools" in fields else False,
        thinking_switch="think" in fields or "thinklevel" in fields,
    )


def _read(template: str, by_name: dict[str, list[Rendered]], plain: str) -> TemplateAbilities:
    on, off = by_name["thinking on"], by_name["thinking off"]
    switch = any(isinstance(text, str) and text != off[at] for at, text in enumerate(on))
    opened = plain.rstrip().endswith(("<think>", "<|START_THINKING|>", "[THINK]"))
    calls = _shows([_CALL], by_name["calls"])
    return TemplateAbilities(
        tools=_shows([_TOOL], by_name["tools"]),
        system=_shows([_SYSTEM], by_name["system"]),
        thinking=switch or opened or mentions_thinking(template),
        parallel_calls=calls and _shows([_CALL, _OTHER_CALL], by_name["several calls"]),
        thinking_switch=switch,
        starts_thinking=opened,
        documents=_shows([_DOCUMENT], by_name["documents"]),
    )


def _shows(words: Sequence[str], texts: Sequence[Rendered]) -> bool | None:
    """Whether a text has all words; None if a failure that the template did not mean hides it."""
    if any(isinstance(text, str) and all(word in text for word in words) for text in texts):
        return True
    refusals = [text for text in texts if isinstance(text, Refusal)]
    is_meant = any(refusal.kind == "raised" for refusal in refusals)
    return False if is_meant or len(refusals) < len(texts) else None


_SYSTEM, _USER, _DOCUMENT = "zqsystemzq", "zquserzq", "zqdocumentzq"
_TOOL, _CALL, _OTHER_CALL = "zqtoolzq", "zqweatherzq", "zqclockzq"


def _probes() -> dict[str, JsonObject]:
    user: JsonObject = {"role": "user", "content": _USER}
    system: JsonObject = {"role": "system", "content": _SYSTEM}
    document: JsonObject = {"title": "d", "text": _DOCUMENT}
    tools: JsonObject = {"tools": [_tool()]}
    probes: dict[str, JsonObject] = {
        "plain": {"messages": [user]},
        "system": {"messages": [system, user]},
        "tools": {"messages": [user], **tools},
        "calls": {"messages": _called(_CALL), **tools},
        "several calls": {"messages": _called(_CALL, _OTHER_CALL), **tools},
        "thinking on": {"messages": [user], "enable_thinking": True},
        "thinking off": {"messages": [user], "enable_thinking": False},
        "documents": {"messages": [user], "documents": [document]},
    }
    return {name: {**USUAL_VARIABLES, **probe} for name, probe in probes.items()}


def _tool() -> JsonObject:
    parameters: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "A text."}},
        "required": ["a"],
    }
    function: JsonObject = {"name": _TOOL, "description": "A tool.", "parameters": parameters}
    return {"type": "function", "function": function}


def _called(*names: str) -> list[JsonValue]:
    """Return a conversation with calls in one answer; their names are nowhere else."""
    calls: list[JsonValue] = []
    results: list[JsonValue] = []
    for number, name in enumerate(names):
        call_id = f"{_CALL_ID[:-1]}{number}"
        function: JsonObject = {"name": name, "arguments": {"a": "b"}}
        calls.append({"id": call_id, "type": "function", "function": function})
        results.append({"role": "tool", "tool_call_id": call_id, "name": "c", "content": "d"})
    answer: JsonObject = {"role": "assistant", "content": "", "tool_calls": calls}
    return [{"role": "user", "content": _USER}, answer, *results]
