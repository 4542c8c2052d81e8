"""Texts that make careless parsers slow, and the parsers that they are tried on."""

from collections.abc import Callable
from typing import Protocol

from ollm_tui.decode.leaked_calls import LeakedCallDetector
from ollm_tui.decode.leaked_forms import ToolTag
from ollm_tui.decode.react import ReActParser
from ollm_tui.decode.thinking import ThinkTags, ThinkTagSplitter
from ollm_tui.protocol.tools import ToolSchema


class Decoder(Protocol):
    def feed(self, chunk: str, /) -> object: ...

    def finish(self) -> object: ...


def splitter() -> ThinkTagSplitter:
    """Search for reasoning anywhere."""
    return ThinkTagSplitter(ThinkTags(where="anywhere", answer_starts=("<answer>",)))


def detector() -> LeakedCallDetector:
    """Search for calls of a tool that takes anything."""
    return LeakedCallDetector([ToolSchema(name="f")], lambda _name, _args: True)


def section_detector() -> LeakedCallDetector:
    """Search for the calls of a family that has a form of its own."""
    calls = ToolTag("<s>", ("</s>",), call_start="<c>", call_end="</c>", name_end="=")
    pairs = ToolTag("<p>", ("</p>",), key_tags=("<k>", "</k>"), value_tags=("<v>", "</v>"))
    return LeakedCallDetector([ToolSchema(name="f")], lambda _name, _args: True, (calls, pairs))


CALL = '{"name": "f", "arguments": {}}'
HOSTILE: dict[str, tuple[Callable[[], Decoder], str]] = {
    "unclosed <think>": (splitter, "<think>"),
    "closed <think>": (splitter, "<think>a</think> b"),
    "almost <think>": (splitter, "<thin"),
    "answer tags": (splitter, "<answer> "),
    "unclosed <tool_call>": (detector, "<tool_call>"),
    "<tool_call> with an open brace": (detector, "<tool_call>{"),
    "<tool_call> with an open call": (detector, '<tool_call>{"name": "f", '),
    "whole calls in tags": (detector, f"<tool_call>{CALL}</tool_call>\n"),
    "whole calls in a row": (detector, f"{CALL} "),
    "open elements": (detector, "<function=f>"),
    "elements in one tag": (detector, "<function=f></function>"),
    "parameters": (detector, "<function=f><parameter=a>x"),
    "open brackets": (detector, "["),
    "fences": (detector, "```"),
    "white space": (detector, " "),
    "sections": (section_detector, "<s>"),
    "calls in a section": (section_detector, "<c>f={}</c>"),
    "open calls in a section": (section_detector, "<c>f="),
    "pairs": (section_detector, "<k>a</k><v>b</v>"),
    "open pairs": (section_detector, "<k>a</k><v>"),
    "Thought:": (ReActParser, "Thought:"),
    "Thought: lines": (ReActParser, "Thought:\n"),
    "almost Thought:": (ReActParser, "Thought\n"),
    "Action lines": (ReActParser, "Action: f\n"),
    "stars": (ReActParser, "*"),
    "blank lines": (ReActParser, "\n"),
    "inputs": (ReActParser, "Action: f\nAction Input: {'a\n"),
    "quotes": (ReActParser, "'\\'"),
}
STARTS = {
    "calls in a section": "<s>",
    "open calls in a section": "<s>",
    "pairs": "<p>f",
    "open pairs": "<p>f",
    "elements in one tag": "<tool_call>",
    "quotes": "Action: f\nAction Input: {",
    "white space": '<tool_call>{"name": "f",',
}


def hostile_text(kind: str, times: int) -> str:
    return STARTS.get(kind, "") + HOSTILE[kind][1] * times
