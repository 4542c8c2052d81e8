"""Approvals as a machine: proposed, changed, stopped or repeated, only what was allowed runs."""

import copy
import random
from dataclasses import dataclass, field
from typing import Literal

import anyio
import pytest

from ollm_tui.frontend.consent import Permissions, can_grant
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import (
    Approval,
    CallPreview,
    ToolCall,
    ToolEffect,
    ToolOutput,
    ToolResult,
    ToolSchema,
)
from ollm_tui.shell.words import plain_words
from ollm_tui.tools.prepared import CallScope, preview_of
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner

COMMANDS = ("ls", "ls a", "git status", "git status; x", "env ls", "a | b")
PATHS = ("a.txt", "b.txt", ".bashrc")


@dataclass
class Ledger:
    """What was allowed, and what ran."""

    allowed: set[tuple[str, str]] = field(default_factory=set)
    ran: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Prepared:
    schema: ToolSchema
    effect: ToolEffect
    text: str
    scope: CallScope
    ledger: Ledger
    timeout_s: float = 5.0

    @property
    def preview(self) -> CallPreview:
        is_command = self.effect == "run"
        return CallPreview(
            "It acts.",
            (("exactly", self.text),),
            may_last=".bashrc" not in self.text,
            is_command=is_command,
            argv=plain_words(self.text) if is_command else None,
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        args.clear()
        self.ledger.ran.append((self.scope.call_id, self.text))
        return ToolOutput("ran")


class Acting:
    timeout_s = 5.0

    def __init__(self, name: str, effect: ToolEffect, ledger: Ledger) -> None:
        self.schema = ToolSchema(name=name, parameters={"type": "object"})
        self.effect: ToolEffect = effect
        self._ledger = ledger

    async def prepare(self, args: JsonObject, scope: CallScope) -> Prepared:
        return Prepared(self.schema, self.effect, str(args["text"]), scope, self._ledger)

    async def run(self, args: JsonObject) -> ToolOutput:
        raise AssertionError("it was not prepared")


@dataclass
class Somebody:
    """Answers at random, sometimes late, and changes the arguments while being asked."""

    chance: random.Random
    ledger: Ledger
    permissions: Permissions = field(default_factory=Permissions)

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        preview = preview_of(tool)
        assert preview is not None
        ((_heading, shown),) = preview.parts
        if self.permissions.allows(call.name, tool.effect, preview):
            self._check_covered(call.name, shown)
            self.ledger.allowed.add((call.id, shown))
            return Approval(True)
        if self.chance.random() < 0.3:
            await anyio.sleep(0)
        if call.args is not None and self.chance.random() < 0.3:
            call.args["text"] = "changed behind the question"
        answer: Literal["no", "once", "session"] = self.chance.choice(("no", "once", "session"))
        if answer == "no":
            return Approval(False, "no")
        if answer == "session" and can_grant(preview):
            self.permissions.grant(call.name, tool.effect, preview)
        self.ledger.allowed.add((call.id, shown))
        return Approval(True)

    async def change_mind(self) -> None:
        """Leave the chat, change the mode, or take a permission back."""
        listed = await self.permissions.listed()
        match self.chance.randrange(3):
            case 0:
                self.permissions.forget()
            case 1:
                self.permissions.cycle()
            case _ if listed:
                await self.permissions.revoke(self.chance.choice(listed))

    def _check_covered(self, name: str, shown: str) -> None:
        assert ".bashrc" not in shown
        if name == "shell" and self.permissions.mode != "all":
            assert plain_words(shown) is not None


async def play(seed: int, steps: int) -> Ledger:
    chance, ledger = random.Random(seed), Ledger()
    somebody = Somebody(chance, ledger)
    tools = [Acting("shell", "run", ledger), Acting("write_file", "write", ledger)]
    runner = ToolRunner(ToolRegistry(tools), somebody)
    offer = runner.offer(["shell", "write_file"])
    results: dict[str, list[ToolResult]] = {}
    calls: list[ToolCall] = []

    def new_call(number: int) -> ToolCall:
        name = chance.choice(("shell", "write_file"))
        text = chance.choice(COMMANDS if name == "shell" else PATHS)
        if calls and chance.random() < 0.2:  # an id that was used before, same or other words
            old = chance.choice(calls)
            return ToolCall(id=old.id, name=name, args={"text": text})
        return ToolCall(id=f"c{number}", name=name, args={"text": text})

    async def one(call: ToolCall) -> None:
        results.setdefault(call.id, []).append(await offer.run(call))

    for number in range(steps):
        match chance.randrange(12):
            case 0 | 1 | 2:
                await somebody.change_mind()
            case 3:  # stopped while it is asked about or runs
                call = new_call(number)
                with anyio.move_on_after(0):
                    await one(copy.deepcopy(call))
                calls.append(call)
            case 4:  # several at once
                several = [new_call(number * 1000 + at) for at in range(3)]
                async with anyio.create_task_group() as group:
                    for call in several:
                        group.start_soon(one, call)
                calls += several
            case _:
                calls.append(new_call(number))
                await one(calls[-1])
        assert set(ledger.ran) <= ledger.allowed
    assert len({call_id for call_id, _text in ledger.ran}) == len(ledger.ran), "an id ran twice"
    assert all(runner.result_of(call_id) is not None for call_id in results)
    return ledger


@pytest.mark.parametrize("seed", range(3))
async def test_only_what_was_allowed_runs(seed: int) -> None:
    ledger = await play(seed, 500)
    assert ledger.ran
    assert not any("changed behind" in text for _id, text in ledger.ran)


@pytest.mark.slow
async def test_only_what_was_allowed_runs_in_a_long_series() -> None:
    await play(99, 20_000)
