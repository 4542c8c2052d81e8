"""The tool `ask_person`: asked in the place of an approval, answered or not, never in scripts."""

import pytest

from ollm_tui.cli.allowing import NonInteractiveApprover
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import Approval, ToolCall
from ollm_tui.tools.ask_person import NOT_ASKED, AskUser
from ollm_tui.tools.prepared import AsksUser, UserQuestion
from tests.support.tools import AllowAll
from tests.tools.web_site import Caller


class Answering:
    def __init__(self, typed: str | None) -> None:
        self.typed = typed
        self.asked: list[UserQuestion] = []

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        del call
        assert isinstance(tool, AsksUser)
        self.asked.append(tool.question)
        tool.take_answer(self.typed)
        return Approval(allowed=True)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("Graz, please", "Graz, please"),
        (" 2 ", "Oslo"),
        ("3", "3"),
        ("0", "0"),
        ("\u0661", "\u0661"),
        ("99999999999", "99999999999"),
    ],
)
async def test_the_answer_reaches_the_model_and_a_number_is_a_choice(
    typed: str, answer: str
) -> None:
    person = Answering(typed)
    result = await Caller(person, AskUser()).call(
        "ask_person", question=" Where? ", choices=["Wien", "Oslo", "Wien"]
    )
    assert person.asked == [UserQuestion("Where?", ("Wien", "Oslo"))]
    assert (result.outcome, result.content) == ("done", f"The person answered: {answer}")
    assert result.display == f"You answered: {answer}"


@pytest.mark.parametrize("typed", [None, "", "  "])
async def test_no_answer_is_said(typed: str | None) -> None:
    result = await Caller(Answering(typed), AskUser()).call("ask_person", question="Where?")
    assert result.content == "The person gave no answer. Go on without one, or end here."


async def test_what_cannot_be_asked_is_one_sentence() -> None:
    result = await Caller(AllowAll(), AskUser()).call("ask_person", question="Where?")
    assert (result.outcome, result.content) == ("failed", NOT_ASKED)
    approver = NonInteractiveApprover()
    result = await Caller(approver, AskUser()).call("ask_person", question="Where?")
    assert result.outcome == "denied"
    assert result.content == f"Not run: it was not allowed. {NOT_ASKED}"
    assert approver.sentences == ()
    person = Answering("x")
    for arguments in ({"question": "  "}, {"question": "Where?", "choices": [" "]}):
        result = await Caller(person, AskUser()).call("ask_person", **arguments)
        assert result.outcome == "failed"
    result = await Caller(person, AskUser()).call(
        "ask_person", question="Where?", choices=[str(one) for one in range(10)]
    )
    assert result.outcome == "failed"
    assert person.asked == []
