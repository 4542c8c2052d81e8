"""Check how well a model calls tools: the same small tasks, several times, in each way of calling.

The tools answer with numbers that nobody can guess, so an answer shows whether they were read.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolModes
from ollm_tui.chat.parts import ChatLimits, ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted
from ollm_tui.models.tool_check import WAYS, ToolCheck, ToolWay, WayScore
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, TextDelta, ToolCallResult
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall, ToolResult, ToolSchema
from ollm_tui.tools.arguments import find_faults

RUNS: Final = 3
"""How often each task is asked: a model does not answer the same every time."""
TASK_S: Final = 300.0
_MAX_TOKENS: Final = 4096
_MAX_TURNS: Final = 5

_TEXT: Final[JsonObject] = {"type": "string"}
TOOLS: Final = (
    ToolSchema(
        name="get_weather",
        description="Return the weather report of a city, with the number of the report.",
        parameters={"type": "object", "properties": {"city": _TEXT}, "required": ["city"]},
    ),
    ToolSchema(
        name="find_train",
        description="Find the next train from one city to another.",
        parameters={
            "type": "object",
            "properties": {"start": _TEXT, "destination": _TEXT},
            "required": ["start", "destination"],
        },
    ),
    ToolSchema(
        name="reserve",
        description="Reserve a number of things in the shop.",
        parameters={
            "type": "object",
            "properties": {
                "item": {"type": "string", "description": "what, in the plural"},
                "count": {"type": "integer"},
                "is_gift": {"type": "boolean"},
            },
            "required": ["item", "count", "is_gift"],
        },
    ),
)


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that a task asks for, and what the tool answers."""

    tool: str
    arguments: Mapping[str, JsonValue]
    result: str

    def is_met_by(self, call: ToolCall) -> bool:
        """Whether a call has this tool and these arguments; more words in a text do no harm."""
        args = call.args
        if call.name != self.tool or args is None:
            return False
        return all(_is_alike(value, args.get(name)) for name, value in self.arguments.items())


def _is_alike(wanted: JsonValue, value: JsonValue) -> bool:
    if isinstance(wanted, str):
        return isinstance(value, str) and wanted in value.casefold()
    return type(value) is type(wanted) and value == wanted


@dataclass(frozen=True, slots=True)
class ToolTask:
    """One task: what is asked, and what has to come of it."""

    name: str
    prompt: str
    calls: tuple[ExpectedCall, ...]
    answer: tuple[str, ...]
    """Words that the answer has to hold."""


_PARIS: Final = ExpectedCall("get_weather", {"city": "paris"}, "Paris: 17 degrees. Report 4821.")
_OSLO: Final = ExpectedCall("get_weather", {"city": "oslo"}, "Oslo: 3 degrees. Report 9034.")
_TRAIN: Final = ExpectedCall(
    "find_train", {"start": "vienna", "destination": "graz"}, "Train 2640 leaves at 14:05."
)
_GIFT: Final = ExpectedCall(
    "reserve", {"item": "chair", "count": 12, "is_gift": True}, "Reserved as order 7359."
)
TASKS: Final = (
    ToolTask(
        "one call",
        "What is the weather in Paris? Use the tool, and tell me the number of the report.",
        (_PARIS,),
        ("4821",),
    ),
    ToolTask(
        "choice",
        "Find the next train from Vienna to Graz with a tool, and tell me the number of the train.",
        (_TRAIN,),
        ("2640",),
    ),
    ToolTask(
        "values",
        "Reserve 12 chairs as a gift with a tool, and tell me the number of the order.",
        (_GIFT,),
        ("7359",),
    ),
    ToolTask(
        "two calls",
        "What is the weather in Paris and in Oslo? Use the tool, and tell me both report numbers.",
        (_PARIS, _OSLO),
        ("4821", "9034"),
    ),
    ToolTask("no call", "Answer with the word hello. You need no tool for it.", (), ("hello",)),
)


class _TaskTools:
    """The tools of one task: they know what is asked for, and nothing else."""

    def __init__(self, task: ToolTask) -> None:
        self.schemas = TOOLS
        self.calls: list[ToolCall] = []
        self._task = task

    def offer(self, _names: Sequence[str]) -> "_TaskTools":
        return self

    async def run(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        content, is_error = self._result_of(call)
        return ToolResult(call_id=call.id, name=call.name, content=content, is_error=is_error)

    def _result_of(self, call: ToolCall) -> tuple[str, bool]:
        schema = next((one for one in TOOLS if one.name == call.name), None)
        if schema is None:
            return f"There is no tool {call.name}.", True
        if call.args is None or (faults := find_faults(schema, call.args)):
            wrong = "the arguments are no JSON object" if call.args is None else "; ".join(faults)
            return f"Wrong arguments: {wrong}", True
        expected = next((one for one in self._task.calls if one.is_met_by(call)), None)
        return (expected.result, False) if expected else ("Nothing is known of that.", False)


class _OneMode(ToolModes):
    """The way of calling that is checked, whatever the settings say."""

    def __init__(self, way: ToolWay) -> None:
        super().__init__()
        self._way = way

    def mode_of(self, _ref: ModelRef, _info: ModelInfo | None) -> ToolWay:
        return self._way

    def learn_from(self, _ref: ModelRef, _error: AIError) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One task, asked once."""

    way: ToolWay
    task: ToolTask
    problem: str | None
    """Why it was not done; None if it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckWish:
    """How a check is done."""

    report: Callable[[Attempt], Awaitable[None]]
    """Awaited after each attempt."""
    ways: Sequence[ToolWay] = WAYS
    runs: int = RUNS
    signal: AbortSignal | None = None
    template: str = ""
    """Where the chat template of the model comes from, if that is known."""


async def check_tools(model: str, parts: ChatParts, wish: CheckWish) -> ToolCheck:
    """Have a model do the tasks, and return how well it did.

    Raises:
        AIError: it cannot be asked; ABORTED if the signal came.
    """
    checker = _ToolChecker(parts, model, wish)
    scores = {way: await checker.score(way) for way in wish.ways}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return ToolCheck(scores=scores, checked_at=now, template=wish.template)


@dataclass(slots=True)
class _ToolChecker:
    """Asks one model to do the tasks."""

    parts: ChatParts
    model: str
    wish: CheckWish

    async def score(self, way: ToolWay) -> WayScore:
        """Have all tasks done in one way, as often as wished."""
        passed, tasks = 0, self.wish.runs * len(TASKS)
        for _run in range(self.wish.runs):
            for task in TASKS:
                try:
                    problem = await self._problem(way, task)
                except AIError as error:
                    if error.known_code is not ErrorCode.UNSUPPORTED_FEATURE or way != "native":
                        raise
                    return WayScore(0, tasks, is_refused=True)
                passed += problem is None
                await self.wish.report(Attempt(way, task, problem))
        return WayScore(passed, tasks)

    async def _problem(self, way: ToolWay, task: ToolTask) -> str | None:
        tools = _TaskTools(task)
        limits = ChatLimits(max_turns=_MAX_TURNS, prompt_s=TASK_S)
        parts = replace(self.parts, tools=tools, modes=_OneMode(way), limits=limits, compacts=None)
        names = tuple(schema.name for schema in TOOLS)
        client = ChatClient(parts, Conversation(model=self.model, tools=names))
        options = ChatOptions(options=GenerationOptions(max_tokens=_MAX_TOKENS))
        events: list[ChatEvent] = []
        async with client.chat(task.prompt, options, self.wish.signal) as stream:
            events.extend([event async for event in stream])
        if self.wish.signal is not None and self.wish.signal.aborted:
            raise AIError(ErrorCode.ABORTED, "The check was stopped.")
        failure = next((event.error for event in events if isinstance(event, ErrorEvent)), None)
        if failure is not None:
            if failure.known_code not in _OF_THE_MODEL:
                raise failure
            return failure.message
        return problem_of(task, tools.calls, _answer(events))


_OF_THE_MODEL: Final = frozenset(
    {
        ErrorCode.BAD_REQUEST,
        ErrorCode.INTERNAL_ERROR,
        ErrorCode.ENGINE_ERROR,
        ErrorCode.STREAM_INCOMPLETE,
        ErrorCode.TIMEOUT,
    }
)
"""What a template that cannot take tools, or a model that never ends, may cause."""


def _answer(events: Sequence[ChatEvent]) -> str:
    """Return what was written after the last call."""
    text = ""
    for event in events:
        match event:
            case TextDelta(delta=delta):
                text += delta
            case ToolCallResult():
                text = ""
    return text


def problem_of(task: ToolTask, calls: Sequence[ToolCall], answer: str) -> str | None:
    """Return why these calls and this answer do not do the task; None if they do."""
    if not task.calls and calls:
        return f"called {calls[0].name} although no tool was needed"
    missing = [one for one in task.calls if not any(map(one.is_met_by, calls))]
    if missing and not calls:
        return "called no tool"
    if missing:
        return f"did not call {missing[0].tool} with the right arguments"
    if len(calls) > 2 * len(task.calls):
        return f"made {counted(len(calls), 'call')} where {len(task.calls)} would do"
    lacking = next((word for word in task.answer if word not in answer.casefold()), None)
    return None if lacking is None else f"did not mention {lacking}"
