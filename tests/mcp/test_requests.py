"""Requests of servers: off by default, asked about, bounded, and answered by the protocol."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.elicitation import BadForm, read_form
from ollm_tui.mcp.log import ServerLog
from ollm_tui.mcp.requests import (
    MAX_REFUSED,
    MAX_WAITING,
    Action,
    AddressRequest,
    ClientSide,
    FormRequest,
    QuestionClock,
    SamplingAnswer,
    SamplingRequest,
    ServerRights,
)
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.forms import FormValues
from tests.mcp.conftest import Running

if TYPE_CHECKING:
    from ollm_tui.protocol.tools import ToolOutput


class InteractiveUser:
    """Agrees to everything, or does what the test says."""

    def __init__(self, action: Action = "accept") -> None:
        self.action: Action = action
        self.asked: list[SamplingRequest | FormRequest | AddressRequest] = []
        self.goes_on = anyio.Event()
        self.goes_on.set()

    async def sample(self, request: SamplingRequest) -> SamplingAnswer | None:
        self.asked.append(request)
        await self.goes_on.wait()
        return SamplingAnswer("Hi.", "some://model") if self.action == "accept" else None

    async def fill(self, request: FormRequest) -> tuple[Action, FormValues]:
        self.asked.append(request)
        return self.action, {"colour": "red", "count": 3} if self.action == "accept" else {}

    async def open_page(self, request: AddressRequest) -> Action:
        self.asked.append(request)
        return self.action


def answers_in(record: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in record.read_text().splitlines() if line[:1] == "{"]
    return {one["id"]: one for one in lines if str(one.get("id", ""))[:1] == "s"}


async def answered(
    running: Running, record: Path, user: InteractiveUser, **settings: Any
) -> Mapping[str, Any]:
    """Return what a server got that asks for everything during a call."""
    client = ClientSide(root=record.parent, answerer=user)
    async with running("requests", client=client, **settings) as watched:
        await watched.until("ready")
        await watched.server.call(watched.tool(), {"text": "hi"})
    return answers_in(record)


async def test_all_is_off_by_default_but_the_folder_of_a_program(
    running: Running, record: Path
) -> None:
    user = InteractiveUser()
    got = await answered(running, record, user)
    assert user.asked == []
    assert {got[name]["error"]["message"] for name in ("s1", "s2", "s3")} == {
        "Sampling not supported",
        "Elicitation not supported",
    }
    assert got["s4"]["result"] == {
        "roots": [{"uri": record.parent.as_uri(), "name": record.parent.name}]
    }
    capabilities = json.loads(record.read_text().splitlines()[1])["params"]["capabilities"]
    assert capabilities == {"roots": {"listChanged": True}}


async def test_the_folder_is_hidden_where_the_settings_say_so(
    running: Running, record: Path
) -> None:
    got = await answered(running, record, InteractiveUser(), roots=False)
    assert got["s4"]["error"]["message"] == "List roots not supported"


async def test_what_is_allowed_is_answered(running: Running, record: Path) -> None:
    user = InteractiveUser()
    got = await answered(running, record, user, sampling=True, elicitation=True)
    sampled, form, page = sorted(user.asked, key=lambda one: type(one).__name__, reverse=True)
    assert isinstance(sampled, SamplingRequest)
    assert (sampled.server, sampled.max_tokens, sampled.system_prompt) == ("box", 50, "Be kind.")
    assert [one.text for one in sampled.messages] == ["Hello\u200b"]
    assert isinstance(form, FormRequest)
    assert [one.name for one in form.fields] == ["colour", "count"]
    assert isinstance(page, AddressRequest)
    assert got["s1"]["result"] == {
        "role": "assistant",
        "content": {"type": "text", "text": "Hi."},
        "model": "some://model",
        "stopReason": "endTurn",
    }
    assert got["s2"]["result"] == {"action": "accept", "content": {"colour": "red", "count": 3}}
    assert got["s3"]["result"] == {"action": "accept"}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_refusal_is_told_by_the_protocol(
    running: Running, record: Path, action: Action
) -> None:
    got = await answered(running, record, InteractiveUser(action), sampling=True, elicitation=True)
    assert got["s1"]["error"] == {"code": -1, "message": "User rejected sampling request"}
    assert got["s2"]["result"] == {"action": action}
    assert got["s3"]["result"] == {"action": action}


async def test_a_call_waits_while_the_person_is_asked(running: Running, record: Path) -> None:
    user = InteractiveUser()
    user.goes_on = anyio.Event()
    client = ClientSide(answerer=user)
    async with running("requests", client=client, sampling=True, call_timeout_s=0.3) as watched:
        await watched.until("ready")
        outputs: list[ToolOutput] = []

        async def call() -> None:
            outputs.append(await watched.server.call(watched.tool(), {"text": "hi"}))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            with anyio.fail_after(20):
                while not user.asked:
                    await anyio.sleep(0.001)
            await anyio.sleep(0.5)  # longer than a call may take
            assert outputs == []
            user.goes_on.set()
        assert outputs[0].content == "hi"


def rights(user: InteractiveUser | None, **settings: Any) -> ServerRights:
    values = McpServerSettings(command="x", sampling=True, **settings)
    return ServerRights("box", values, ClientSide(answerer=user), ServerLog())


async def ask(one: ServerRights) -> bool:
    return await one.ask(lambda _person: decline(), lambda answer: not answer)


async def decline() -> bool:
    return False


async def test_after_refusals_in_a_row_nothing_is_asked_until_a_restart() -> None:
    box = rights(InteractiveUser())
    for _ in range(MAX_REFUSED):
        assert not await ask(box)
    with pytest.raises(AIError, match="no further one is shown"):
        await ask(box)
    box.forgive()
    assert not await ask(box)


async def test_a_failure_here_is_told_without_its_words() -> None:
    async def fail() -> bool:
        raise RuntimeError("secret")

    with pytest.raises(AIError, match=r"^The client failed\.$"):
        await rights(InteractiveUser()).ask(lambda _person: fail(), bool)


async def test_only_some_requests_wait() -> None:
    box = rights(InteractiveUser())
    async with anyio.create_task_group() as group:
        for _ in range(MAX_WAITING):
            group.start_soon(box.ask, lambda _person: anyio.sleep_forever(), bool)
        await anyio.sleep(0)
        with pytest.raises(AIError, match="are waiting"):
            await ask(box)
        group.cancel_scope.cancel()


async def test_without_a_person_nothing_is_asked() -> None:
    box = rights(None, elicitation=True)
    assert not (box.may_sample)
    assert not (box.may_elicit)
    assert box.questions_s == 0
    with pytest.raises(AIError, match="no person"):
        await ask(box)


async def test_an_address_is_told_no_folder_by_default(tmp_path: Path) -> None:
    for roots, shown in ((None, None), (True, tmp_path)):
        settings = McpServerSettings(url="https://example.com", roots=roots)
        box = ServerRights("box", settings, ClientSide(root=tmp_path), ServerLog())
        assert box.root == shown


async def test_a_limit_stands_still_during_a_question() -> None:
    clock = QuestionClock()
    with clock.limit(0.05) as scope:
        with clock.question():
            await anyio.sleep(0.1)
        assert not scope.cancel_called
        await anyio.sleep_forever()
    assert scope.cancelled_caught


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["mail", "colour"],
    "properties": {
        "mail": {"type": "string", "format": "email", "title": "Mail", "maxLength": 30},
        "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "share": {"type": "number"},
        "sure": {"type": "boolean", "default": True},
        "pets": {"type": "array", "items": {"anyOf": [{"const": "cat", "title": "Cat"}]}},
        "bad": {"type": "string", "default": 7},
    },
}


def test_a_form_is_read_and_its_values_are_checked() -> None:
    fields = {one.name: one for one in read_form(SCHEMA)}
    assert [one.kind for one in fields.values()] == [
        *("text", "choice", "integer", "number", "boolean", "choices", "text")
    ]
    assert [name for name, one in fields.items() if one.is_required] == ["mail", "colour"]
    assert (fields["size"].default, fields["sure"].default, fields["bad"].default) == (
        3,
        True,
        None,
    )
    assert fields["mail"].value_of("a@example.com") == "a@example.com"
    assert fields["colour"].value_of("green") == "g"
    assert fields["pets"].value_of("Cat, cat") == ["cat"]
    assert fields["share"].value_of("") is None
    for name, typed in (
        ("mail", ""),
        ("mail", "x" * 40),
        ("size", "10"),
        ("size", "two"),
        ("share", "nan"),
        ("sure", "maybe"),
        ("colour", "blue"),
    ):
        with pytest.raises(ValueError, match=r"\.$"):
            fields[name].value_of(typed)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"a": {"type": "object"}},
        {"a": {"type": "array", "items": {"type": "object"}}},
        {"a": {"type": "string", "enum": [1]}},
        {"a": {"type": "string", "pattern": "("}},
        {"a": 5},
        {f"f{number}": {"type": "string"} for number in range(50)},
    ],
)
def test_a_form_that_cannot_be_asked_is_refused(properties: dict[str, Any]) -> None:
    with pytest.raises(BadForm):
        read_form({"type": "object", "properties": properties})
