"""Engine processes: started on demand, shared, unloaded when idle, ended with their owner."""

import json
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Self, TypeAlias, TypeVar

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from ollm_tui.decode.json_fields import as_object
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.provider_events import Rerouted
from ollm_tui.providers.embedded import failures
from ollm_tui.providers.embedded.plan import CachedChat, Plan
from ollm_tui.providers.embedded.process import ChildProcess
from ollm_tui.providers.embedded.settings import EmbeddedSettings

GRACE_S = 0.5
STARTED_AGAIN, LOADED_AGAIN = "It is started again.", "It is loaded again."
KEY_BYTES = 32
ENGINE_COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("child.py")))
"""Run as a file and with -P, so that nothing in the working directory can replace a module."""

PlanT = TypeVar("PlanT", bound=Plan)


class Engine(Generic[PlanT]):
    """One loaded model; llama.cpp's server listens on `url` for requests with `key`."""

    def __init__(
        self,
        plan: PlanT,
        process: ChildProcess,
        scope: anyio.CancelScope,
        *,
        url: str,
        key: str,
    ) -> None:
        self.plan = plan
        self.url = url
        self.key = key
        self.ready_at = time.monotonic()
        self.leases = 0
        self.idle_unload_s: float | None = None
        """Seconds without a lease after which it is unloaded; None keeps it."""
        self.leaves_at: float | None = None
        """When it will be unloaded if nothing uses it before, in seconds since 1970."""
        self.replaced: Rerouted | None = None
        """Why the previous engine was ended, until that is reported."""
        self.is_unresponsive = False
        self.is_killed = False
        """Whether it is ended without grace, because its work is no longer wanted."""
        self.has_processed_prompt = False
        """Whether it was asked anything yet."""
        self.state_name: str | None = None
        """The name of the files that keep what it has read; None if nothing is kept."""
        self.read_chat: CachedChat | None = None
        """The saved chat that it has read last."""
        self.exited = anyio.Event()
        self.process = process
        self._scope = scope
        self._idle: anyio.CancelScope | None = None

    @property
    def pid(self) -> int:
        """The engine's process id."""
        return self.process.pid

    @property
    def expires_at(self) -> str | None:
        """When an idle engine ends; None if it is answering or stays."""
        if self.leaves_at is None:
            return None
        try:
            return datetime.fromtimestamp(self.leaves_at, UTC).isoformat(timespec="seconds")
        except (OverflowError, ValueError, OSError):  # beyond all calendars
            return None

    @property
    def stays_s(self) -> float:
        """How long it stays after an answer, in seconds; -1 is until it is unloaded."""
        return -1.0 if self.idle_unload_s is None else self.idle_unload_s

    @property
    def is_ending(self) -> bool:
        """Whether it is ending or has ended, so that it cannot be leased."""
        return self._scope.cancel_called or self.process.ending is not None

    @property
    def crash(self) -> AIError | None:
        """Why it ended unexpectedly, or None if it did not."""
        if self.is_unresponsive:
            return failures.unresponsive(self.plan.name)
        ending = self.process.ending
        if ending is None or self._scope.cancel_called:
            return None
        return failures.stopped(ending, log=self.process.log_tail())

    def stop(self) -> None:
        """Request its end; `exited` is set when that is done."""
        self._scope.cancel()

    def give_up(self) -> None:
        """Have it killed without grace, because it does not respond."""
        self.is_unresponsive = True
        self.stop()

    def kill(self) -> None:
        """Have it killed without grace, because what it does is no longer wanted."""
        self.is_killed = True
        self.stop()

    def begin_idle(self) -> anyio.CancelScope:
        """Return the scope in which to wait before unloading; the next lease cancels it."""
        self._idle = anyio.CancelScope()
        return self._idle

    def take(self) -> None:
        """Count one more lease."""
        self.leases += 1
        self.leaves_at = None
        self.end_idle()
        self.process.log_tail()  # makes room for what may come

    def end_idle(self) -> None:
        """Cancel the wait for unloading."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None


Responds: TypeAlias = Callable[[Engine[Any]], Awaitable[bool]]
"""Checks whether an engine responds, within a time limit."""


class Supervisor:
    """Owns the engines; use it as an async context manager, which bounds their lives."""

    def __init__(
        self,
        settings: EmbeddedSettings,
        *,
        command: Sequence[str] = ENGINE_COMMAND,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._settings = settings
        self._command = command
        self._sleep = sleep
        self._engines: dict[tuple[str, str], Engine[Any]] = {}
        """By engine and model."""
        self._scopes: set[anyio.CancelScope] = set()
        self._replaced: dict[str, Rerouted] = {}
        """Why the last engine of a model was ended, until the next one starts."""
        self._lock = anyio.Lock()
        self._group: TaskGroup | None = None
        self._is_closed = False
        self.before_end: Callable[[Engine[Any]], Awaitable[None]] | None = None
        """Called with an idle engine that is about to end."""

    async def __aenter__(self) -> Self:
        group = anyio.create_task_group()
        await group.__aenter__()
        self._group = group
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.close()
        assert self._group is not None
        # The group does not get the body's error, so that it is raised as itself, not in a group.
        await self._group.__aexit__(None, None, None)

    @property
    def engines(self) -> tuple[Engine[Any], ...]:
        """The loaded models."""
        return tuple(self._engines.values())

    def close(self) -> None:
        """End every engine, loading or loaded, and start no more."""
        self._is_closed = True
        for scope in self._scopes:
            scope.cancel()

    async def wait_closed(self) -> None:
        """Wait until every engine has ended."""
        for engine in self.engines:
            await engine.exited.wait()

    @asynccontextmanager
    async def lease(
        self, plan: PlanT, responds: Responds | None = None
    ) -> AsyncIterator[Engine[PlanT]]:
        """Keep the model loaded until the block is left.

        An engine that does not respond, now or during the lease, is killed. At the start of a lease
        another one takes its place, with the reason in `replaced`.

        Raises:
            AIError: It cannot be loaded; cancelling a load kills the process.
        """
        if responds is not None and (running := self._usable(plan)):
            await self._check(running, responds)
        engine = self._usable(plan) or await self._start_engine(plan)
        engine.take()
        watch = anyio.CancelScope()
        if responds is not None and self._group is not None:
            self._group.start_soon(self._watch, engine, responds, watch)
        try:
            yield engine
        finally:
            watch.cancel()
            self._release(engine)

    def idle_unload_after(self, keep_alive: str | float | None) -> float | None:
        """Return the idle time after a request; see `EmbeddedSettings.idle_unload_after`."""
        return self._settings.idle_unload_after(keep_alive)

    def check_soon(self, engine: Engine[Any], responds: Responds) -> None:
        """Kill an engine that does not respond after it was told to stop answering."""
        if self._group is not None and not self._is_closed:
            self._group.start_soon(self._check, engine, responds)

    async def unload(self, name: str) -> None:
        """Unload a model, even in the middle of an answer."""
        for engine in self.engines:
            if engine.plan.name == name:
                engine.stop()
                await engine.exited.wait()

    async def _check(self, engine: Engine[Any], responds: Responds) -> None:
        if not engine.is_ending and not await responds(engine):
            engine.give_up()

    async def _watch(
        self, engine: Engine[Any], responds: Responds, watch: anyio.CancelScope
    ) -> None:
        with watch:
            while not engine.is_ending:
                await anyio.sleep(self._settings.check_interval_s)
                await self._check(engine, responds)

    def _usable(self, plan: PlanT) -> Engine[PlanT] | None:
        engine = self._engines.get((plan.engine, plan.name))
        if engine is None or engine.is_ending:
            return None
        # Another window is not worth interrupting an answer.
        return engine if engine.plan == plan or engine.leases else None

    async def _start_engine(self, plan: PlanT) -> Engine[PlanT]:
        """Start an engine, one at a time, unless another task has done so meanwhile."""
        async with self._lock:
            if engine := self._usable(plan):
                return engine
            await self._end_other(plan)
            await self._make_room(plan.engine)
            if self._group is None or self._is_closed:
                raise failures.closed()
            engine = await self._group.start(self._keep, plan, name=f"engine {plan.name}")
            assert isinstance(engine, Engine)
            return engine

    async def _end_other(self, plan: Plan) -> None:
        """End an engine that has the model in another way, and keep a report of that."""
        engine = self._engines.get((plan.engine, plan.name))
        if engine is None:
            return
        reason = None if engine.is_ending else plan.replaces(engine.plan)
        if reason is not None:
            self._replaced[plan.name] = Rerouted(reason, instead=LOADED_AGAIN)
        engine.stop()
        await engine.exited.wait()

    async def _make_room(self, kind: str) -> None:
        idle = [engine for engine in self._loaded(kind) if not engine.leases]
        surplus = len(self._loaded(kind)) - self._settings.most_loaded + 1
        for engine in idle[: max(0, surplus)]:
            engine.stop()
            await engine.exited.wait()

    def _loaded(self, kind: str) -> list[Engine[Any]]:
        return [engine for engine in self.engines if engine.plan.engine == kind]

    def _release(self, engine: Engine[Any]) -> None:
        engine.leases -= 1
        if engine.leases or engine.exited.is_set() or self._group is None or self._is_closed:
            return
        if len(self._loaded(engine.plan.engine)) > self._settings.most_loaded:
            engine.stop()
        elif engine.idle_unload_s is not None:
            idle, seconds = engine.begin_idle(), engine.idle_unload_s
            engine.leaves_at = time.time() + seconds
            self._group.start_soon(self._unload_later, engine, idle, seconds)

    async def _unload_later(
        self, engine: Engine[Any], idle: anyio.CancelScope, seconds: float
    ) -> None:
        with idle:
            await self._sleep(seconds)
            if not engine.leases:  # a lease taken in this very moment cancels too late
                engine.stop()

    async def _keep(self, plan: Plan, *, task_status: TaskStatus[Engine[Any]]) -> None:
        try:
            process = ChildProcess(plan.command or self._command)
        except OSError as error:
            raise failures.not_started(error) from error
        engine = None
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                engine = await self._load(plan, process, scope)
                task_status.started(engine)
                await process.wait()
            finally:
                self._scopes.discard(scope)
                # A process that is loading or hangs cannot react, so it is killed at once.
                can_hear = engine is not None and not (engine.is_unresponsive or engine.is_killed)
                with anyio.CancelScope(shield=True):
                    if engine is not None and can_hear and not engine.leases:
                        await self._take_leave(engine)
                    await process.stop(GRACE_S if can_hear else 0)
                if engine is not None:
                    self._forget(engine)
        if engine is None:
            raise failures.closed()

    async def _take_leave(self, engine: Engine[Any]) -> None:
        if self.before_end is not None and engine.process.ending is None:
            await self.before_end(engine)

    async def _load(
        self, plan: Plan, process: ChildProcess, scope: anyio.CancelScope
    ) -> Engine[Any]:
        key = secrets.token_urlsafe(KEY_BYTES)
        try:
            with anyio.fail_after(self._settings.load_timeout_s):
                plan_instructions = await to_thread.run_sync(
                    plan.instructions, abandon_on_cancel=True
                )
                instructions = {"parent": os.getpid(), "key": key, **plan_instructions}
                await process.write(json.dumps(instructions).encode() + b"\n")
                report = await _ready(process, plan)
        except TimeoutError:
            raise failures.too_slow(plan.name, self._settings.load_timeout_s) from None
        engine = Engine(plan, process, scope, url=str(report.get("url", "")), key=key)
        engine.idle_unload_s = self._settings.idle_unload_s
        engine.replaced = self._replaced.pop(plan.name, None)
        self._engines[plan.engine, plan.name] = engine
        return engine

    def _forget(self, engine: Engine[Any]) -> None:
        key = (engine.plan.engine, engine.plan.name)
        if self._engines.get(key) is engine:
            del self._engines[key]
        if engine.is_unresponsive and not engine.leases:  # else it is the error of their answers
            reason = failures.unresponsive(engine.plan.name)
            self._replaced[engine.plan.name] = Rerouted(reason, instead=STARTED_AGAIN)
        engine.end_idle()
        engine.exited.set()


async def _ready(process: ChildProcess, plan: Plan) -> JsonMapping:
    """Return what the process reports once it has loaded the model."""
    line = await process.read_line()
    if not line.endswith(b"\n"):
        log = await _whole_log(process)
        raise failures.died_loading(plan.name, process.ending or 0, log)
    report = _read_report(line)
    log = await _whole_log(process) if "error" in report else process.log_tail()
    plan.check(report, log)
    return report


async def _whole_log(process: ChildProcess) -> str:
    """Return the end of the log after the process has ended, because the reason may come last."""
    with anyio.move_on_after(GRACE_S):
        await process.wait()
    return process.log_tail()


def _read_report(line: bytes) -> JsonMapping:
    try:
        report: JsonMapping = as_object(json.loads(line))
    except ValueError:
        report = {}
    if not report:
        raise failures.not_understood()
    return report
