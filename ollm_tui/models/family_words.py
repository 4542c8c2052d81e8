"""What is known of a model's family in a few words, for the command line and the screens; pure."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.models.sidecar import own_window

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge, ThinkingFacts, ToolUse

_TOOLS: Final[dict["ToolUse", str]] = {
    "native": "native",
    "react": "described in text",
    "none": "none: it does not chat",
}


def family_rows(known: "ModelKnowledge") -> Iterator[tuple[str, str]]:
    """Yield name and value of each fact; only the family for a model that has none."""
    if known.family is None:
        yield "family", "unknown"
    else:
        yield "family", " → ".join(known.chain)
        yield "variant", known.variant or "default"
    if known.sidecar is not None:
        yield "settings beside the file", known.sidecar.name
    if known.capability is not None or known.thinking is not None:
        yield "thinking", thinking_words(known.thinking)
    if known.tool_mode is not None:
        yield "tools", _TOOLS[known.tool_mode]
    if known.tool_tags:
        yield "calls in text", ", ".join(tag.start for tag in known.tool_tags)
    if known.context is not None and own_window(known) is None:
        yield "made for", f"{known.context:,} tokens"
    window = known.sliding_window
    if window is not None:
        layers = f"{window.full_every - 1} of {window.full_every} layers"
        yield "sliding window", f"{window.size:,} tokens in {layers}"
    if known.sources:
        yield "sources", ", ".join(known.sources)


def thinking_words(thinking: "ThinkingFacts | None") -> str:
    """Return how a model thinks: `always`, `deep by default, or off; enable_thinking`."""
    if thinking is None or not thinking.thinks:
        return "no"
    if thinking.is_always_on:
        first = "always"
    else:
        default = thinking.support.default or "off"
        others = sorted(thinking.support.allowed - {default})
        first = f"{default} by default, or {', '.join(others)}"
    instructed = "" if thinking.support.thinks_by_itself else "told to in the system prompt"
    parts = [first, instructed, _tags(thinking), _switched(thinking)]
    if thinking.config.efforts:
        parts.append(f"efforts {', '.join(thinking.config.efforts)}")
    return "; ".join(part for part in parts if part)


def _tags(thinking: "ThinkingFacts") -> str:
    tag: object = thinking.config.think_tag
    if isinstance(tag, str):
        return tag
    is_texts = isinstance(tag, Sequence) and all(isinstance(one, str) for one in tag)
    return " … ".join(tag) if is_texts and isinstance(tag, Sequence) else ""


def _switched(thinking: "ThinkingFacts") -> str:
    switch = thinking.switch
    blank = "a blank block" if thinking.blank else None
    ways = (switch.variable, switch.effort_variable, switch.on_text, switch.off_text, blank)
    named = ", ".join(way for way in ways if way)
    return f"switched by {named}" if named else ""
