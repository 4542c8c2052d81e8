"""`--allow`: what acts without a question in the shell, and what ends with exit code 3."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from ollm_tui.cli.allowing import Allowed, NonInteractiveApprover
from ollm_tui.cli.output import TURN_LIMIT, UsageError
from ollm_tui.protocol.tools import CallPreview, ToolCall, ToolOutput, ToolSchema
from tests.cli.conftest import Ollm
from tests.cli.fake_ollama import DONE, FakeOllama, Line, text_line

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject
    from ollm_tui.protocol.ports import Tool


def wants(name: str, **args: str) -> Line:
    return text_line("", tool_calls=[{"function": {"name": name, "arguments": args}}])


class Desk:
    def __init__(self, ollm: Ollm, fake: FakeOllama, folder: Path) -> None:
        self.ollm, self.fake, self.root = ollm, fake, folder / "work"
        self.root.mkdir()
        fake.capabilities = ["completion", "tools"]
        self.settings = folder / "config.toml"
        self.settings.write_text(f"[tools]\nroot = '{self.root}'\n[chat]\nmax_turns = 2\n")

    def ask(self, *options: str):  # type: ignore[no-untyped-def]
        asked = ["--host", self.fake.url, "--model", "local://tiny:1b"]
        return self.ollm(*asked, "--config", str(self.settings), *options, "-p", "Do it.")

    @property
    def result(self) -> str:
        results = [m for r in self.fake.requests for m in r["messages"] if m["role"] == "tool"]
        return str(results[-1]["content"])


@pytest.fixture
def desk(ollm: Ollm, fake: FakeOllama, tmp_path: Path) -> Desk:
    return Desk(ollm, fake, tmp_path)


def test_without_allow_nothing_is_sent(desk: Desk) -> None:
    done = desk.ask("--tools", "write_file")
    assert (done.returncode, desk.fake.requests) == (3, [])
    assert "--allow write_file allows it." in done.stderr


def test_a_tool_that_is_allowed_is_offered_and_acts(desk: Desk) -> None:
    desk.fake.lines = [wants("write_file", path="a.txt", content="hi\n"), DONE]
    done = desk.ask("--allow", "write_file")
    tools = [tool["function"]["name"] for tool in desk.fake.requests[0]["tools"]]
    assert tools == ["write_file"]
    assert (desk.root / "a.txt").read_text() == "hi\n"
    assert done.returncode == TURN_LIMIT  # the fake model asks again and again
    assert "which --max-turns N sets" in done.stderr
    desk.fake.requests.clear()
    desk.fake.lines = [wants("write_file", path=".bashrc", content="hi\n"), DONE]
    done = desk.ask("--allow", "write_file")
    assert done.returncode == 3
    assert "nobody can give it here" in desk.result
    assert not (desk.root / ".bashrc").exists()


def test_only_commands_that_fit_run(desk: Desk) -> None:
    desk.fake.lines = [wants("shell", command="echo one"), DONE]
    assert desk.ask("--allow", "shell:echo *").returncode == TURN_LIMIT
    assert desk.result.startswith("one")
    desk.fake.requests.clear()
    desk.fake.lines = [wants("shell", command="echo one; touch ran"), DONE]
    done = desk.ask("--allow", "shell:echo *", "--json")
    assert done.returncode == 3
    assert "--allow did not give it: shell echo one; touch ran." in done.stderr
    assert not (desk.root / "ran").exists()
    outcomes = [json.loads(line).get("outcome") for line in done.stdout.splitlines()]
    assert "denied" in outcomes


def test_a_tool_that_was_not_offered_is_one_line_and_the_model_is_told(desk: Desk) -> None:
    desk.fake.lines = [wants("shell", command="touch ran"), DONE]
    done = desk.ask("--tools", "read_file")
    assert "the tool 'shell' is not offered" in desk.result
    lines = [line for line in done.stderr.splitlines() if "is not offered" in line]
    assert lines
    assert not (desk.root / "ran").exists()


def test_no_tools_are_offered_where_none_are_wanted(desk: Desk) -> None:
    desk.fake.lines = [DONE]
    desk.ask("--tools", "none")
    assert not desk.fake.requests[0].get("tools")


def test_the_limit_of_turns_can_be_named(desk: Desk) -> None:
    desk.fake.lines = [wants("current_time"), DONE]
    assert desk.ask("--tools", "current_time", "--max-turns", "4").returncode == TURN_LIMIT
    assert len(desk.fake.requests) == 4
    assert desk.ask("--max-turns", "many").returncode == 2
    assert "must be at most 100" in desk.ask("--max-turns", "1000").stderr


def test_a_model_that_only_calls_though_it_has_no_tools_is_told_once(desk: Desk) -> None:
    desk.fake.lines = [wants("shell", command="touch ran"), DONE]
    done = desk.ask()
    assert done.returncode == 1
    assert "it only asked for tools, and none was run" in done.stderr
    assert desk.result == "Not run: no tools are offered. Answer without them."
    assert len(desk.fake.requests) == 2


@pytest.mark.parametrize("value", ["shell:", "shell:a; b", "shell:env x", "write_file:x"])
def test_a_pattern_of_several_commands_is_refused(desk: Desk, value: str) -> None:
    with pytest.raises(UsageError):
        Allowed.of([value])
    assert desk.ask("--allow", value).returncode == 2


def test_what_is_allowed_is_named() -> None:
    allowed = Allowed.of(["write_file", "shell:git log *", "shell:ls"])
    assert allowed.names == ("shell", "write_file")
    assert NonInteractiveApprover(allowed).needed == []


class Unread:
    schema, effect, timeout_s = ToolSchema(name="box__echo"), "network", 5.0

    def __init__(self, sentence: str) -> None:
        self.preview = CallPreview("", (), may_last=not sentence, unread=sentence)

    async def run(self, args: "JsonObject") -> ToolOutput:
        raise AssertionError("nobody asked")


async def test_the_line_about_calls_ends_with_one_full_stop() -> None:
    nobody = NonInteractiveApprover(Allowed.of([]))
    tool = Unread("")
    tool.preview = CallPreview("It is always asked about.", ())
    await nobody.approve(ToolCall(id="1", name="box__echo", args={}), cast("Tool", tool))
    [line] = nobody.sentences
    assert line.endswith(": box__echo It is always asked about.")


async def test_a_pattern_covers_the_tools_of_a_server_but_nothing_unread() -> None:
    nobody = NonInteractiveApprover(Allowed.of(["box__*"]))
    call = ToolCall(id="1", name="box__echo", args={})
    assert (await nobody.approve(call, cast("Tool", Unread("")))).allowed
    other = replace(call, name="boxes__echo")
    assert not (await nobody.approve(other, cast("Tool", Unread("")))).allowed
    refused = await nobody.approve(call, cast("Tool", Unread("Read it.")))
    assert (refused.allowed, refused.reason) == (False, "Read it.")
    assert nobody.sentences[0] == "Read it."
    assert nobody.sentences[1].startswith("Approval was needed")
