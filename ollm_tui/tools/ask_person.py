"""`ask_person`: a question of the model to the user, who may answer it or not."""

from typing import Final, Literal

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolEffect, ToolOutput, ToolSchema
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.prepared import CallScope, UserQuestion

MAX_CHOICES: Final = 9
MAX_QUESTION_LENGTH: Final = 2_000
MAX_CHOICE_LENGTH: Final = 200
NOT_ASKED: Final = "Nobody can be asked here. Decide yourself, and say what you assumed."
_TIMEOUT_S: Final = 10.0
"""Only for what follows the answer; the user may take any time."""
_SCHEMA: Final = ToolSchema(
    name="ask_person",
    description="Ask the person a question that only they can answer, and return their answer. "
    "They may also give none.",
    parameters={
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUESTION_LENGTH,
                "description": "One question, in full sentences.",
            },
            "choices": {
                "type": "array",
                "maxItems": MAX_CHOICES,
                "items": {"type": "string", "minLength": 1, "maxLength": MAX_CHOICE_LENGTH},
                "description": "Answers to choose from; the person may also give another one.",
            },
        },
        "required": ["question"],
        "additionalProperties": False,
    },
)


class AskUser:
    """Asks; approvers put the question in the place of an approval."""

    schema = _SCHEMA
    effect: ToolEffect = "read"
    timeout_s = _TIMEOUT_S

    async def prepare(self, args: JsonObject, scope: CallScope) -> "PreparedQuestion":
        """Read the question.

        Raises:
            ToolFailure: it is empty.
        """
        del scope
        listed = args.get("choices")
        choices = [str(one).strip() for one in listed] if isinstance(listed, list) else []
        question = str(args["question"]).strip()
        if not question or not all(choices):
            raise ToolFailure("Not asked: the question or one of the choices is empty.")
        return PreparedQuestion(UserQuestion(question, tuple(dict.fromkeys(choices))))

    async def run(self, args: JsonObject) -> ToolOutput:
        """Refuse: nobody was asked."""
        del args
        return ToolOutput(NOT_ASKED, is_error=True)


@dataclass(slots=True)
class PreparedQuestion:
    """One question, until it is answered."""

    question: UserQuestion
    schema: ToolSchema = _SCHEMA
    effect: Literal["read"] = "read"
    timeout_s: float = _TIMEOUT_S
    _is_asked: bool = False
    _answer: str | None = None

    def take_answer(self, typed: str | None) -> None:
        """Take what the user typed; None or nothing is no answer."""
        self._is_asked = True
        self._answer = self.question.meant(typed or "") or None

    async def run(self, args: JsonObject) -> ToolOutput:
        """Return the answer."""
        del args
        if not self._is_asked:
            raise ToolFailure(NOT_ASKED)
        if self._answer is None:
            return ToolOutput(
                "The person gave no answer. Go on without one, or end here.",
                display="You gave no answer.",
            )
        return ToolOutput(
            f"The person answered: {self._answer}", display=f"You answered: {self._answer}"
        )
