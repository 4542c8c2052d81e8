"""Prompts of servers in lines: what they need is asked for, and their words are read out."""

from typing import cast

import pytest

from ollm_tui.attachments.attachment import AttachedText
from ollm_tui.linear.attachments import LinearAttachments
from ollm_tui.linear.questions import LinearForms, Questions
from ollm_tui.protocol.forms import FieldOption, FormField, FormValues

FIELDS = (
    FormField("who", about="Whom to greet.", is_required=True),
    FormField("tone", "choice", options=(FieldOption("w", "Warm"), FieldOption("c", "Cool"))),
    FormField("often", "integer", default=2),
)


class Typed:
    """Answers each question for a line with the next of these."""

    def __init__(self, *lines: str | None) -> None:
        self.lines = list(lines)
        self.asked: list[tuple[str, str]] = []

    async def line(self, prompt: str, initial: str = "") -> str | None:
        self.asked.append((prompt, initial))
        return self.lines.pop(0)


async def entered(*lines: str | None) -> tuple[FormValues | None, list[str], Typed]:
    heard: list[str] = []
    typed = Typed(*lines)
    forms = LinearForms(cast("Questions", typed), heard.append)
    return await forms.ask("box:greet needs something", FIELDS), heard, typed


async def test_each_field_is_asked_until_its_value_is_right() -> None:
    values, heard, typed = await entered("", "Ada", "hot", "warm", "many", "3")
    assert values == {"who": "Ada", "tone": "w", "often": 3}
    assert typed.asked[-1] == ("often: ", "2")
    assert heard == [
        "box:greet needs something.",
        "who. Whom to greet.",
        "A value is required.",
        "tone. One of: Warm, Cool",
        "Choose from: Warm, Cool.",
        "often",
        "Type a whole number.",
    ]


@pytest.mark.parametrize("lines", [(None,), ("Ada", None)])
async def test_it_can_be_cancelled(lines: tuple[str | None, ...]) -> None:
    assert (await entered(*lines))[0] is None


async def test_the_words_are_read_out_before_they_go_with_the_next_message() -> None:
    heard: list[str] = []
    attachments = LinearAttachments(heard.append)
    await attachments.insert(["Greet Ada.", AttachedText("notes://today", "Buy tea.\n")])
    assert heard == [
        "Greet Ada.",
        "notes://today:\n```\nBuy tea.\n```\n",
        "This goes with the next message.",
    ]
    sent = attachments.take("Please:")
    assert isinstance(sent, str)
    assert sent.startswith("Please:\n\nGreet Ada.\n\nnotes://today:")
