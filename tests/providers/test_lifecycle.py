"""Each adapter is initialized once and disposed of once, whatever the others do."""

import asyncio
from dataclasses import dataclass, field

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers import lifecycle as module
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.lifecycle import adapter_lifecycle
from ollm_tui.providers.operations import list_running, show_model, translated
from ollm_tui.providers.registry import ProviderRegistry
from tests.support.providers import ScriptedProvider


@dataclass
class Living(ScriptedProvider):
    """Counts, and fails or waits as a test says."""

    calls: list[str] = field(default_factory=list)
    init_gate: anyio.Event | None = None
    init_error: BaseException | None = None
    dispose_error: BaseException | None = None

    async def initialize(self) -> None:
        self.calls.append("initialize")
        if self.init_gate is not None:
            await self.init_gate.wait()
        if self.init_error is not None:
            raise self.init_error

    async def dispose(self) -> None:
        self.calls.append("dispose")
        if self.dispose_error is not None:
            raise self.dispose_error


async def test_an_adapter_is_initialized_once_for_all_who_want_it() -> None:
    adapter = Living(init_gate=anyio.Event())
    assert adapter.init_gate is not None
    ready = []
    async with adapter_lifecycle() as lifecycle:

        async def use() -> None:
            await lifecycle.initialize(adapter)
            ready.append(1)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(use)
            await anyio.wait_all_tasks_blocked()
            assert ready == []
            adapter.init_gate.set()
        await lifecycle.initialize(adapter)
        assert len(ready) == 5
    assert adapter.calls == ["initialize", "dispose"]


async def test_a_caller_that_stops_waiting_does_not_stop_it() -> None:
    adapter = Living(init_gate=anyio.Event())
    assert adapter.init_gate is not None
    async with adapter_lifecycle() as lifecycle:
        with anyio.move_on_after(0):
            await lifecycle.initialize(adapter)
        await anyio.wait_all_tasks_blocked()
        adapter.init_gate.set()
        await lifecycle.initialize(adapter)
    assert adapter.calls == ["initialize", "dispose"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (AIError(ErrorCode.AUTH_FAILED, "No key."), r"No key\."),
        (RuntimeError("a secret"), r"Scripted could not be initialized \(RuntimeError\)\."),
        (SystemExit(3), r"Scripted could not be initialized \(SystemExit\)\."),
        (asyncio.CancelledError(), r"Scripted could not be initialized \(CancelledError\)\."),
        (ExceptionGroup("", [AIError(ErrorCode.AUTH_FAILED, "No key.")]), r"^No key\.$"),
    ],
)
async def test_a_failure_is_reported_at_each_use_and_to_no_other(
    error: BaseException, words: str
) -> None:
    broken, good = Living("broken", init_error=error), Living("good")
    async with adapter_lifecycle() as lifecycle:
        for _ in range(2):
            with pytest.raises(AIError, match=words) as raised:
                await lifecycle.initialize(broken)
            assert raised.value.provider == "broken"
        await lifecycle.initialize(good)
    assert broken.calls == good.calls == ["initialize", "dispose"]


async def test_an_adapter_that_is_never_ready_is_reported_and_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "INITIALIZE_S", 0.01)
    adapter = Living(init_gate=anyio.Event())
    with anyio.fail_after(5):
        async with adapter_lifecycle() as lifecycle:
            with pytest.raises(AIError, match="Scripted was not ready within"):
                await lifecycle.initialize(adapter)
    assert adapter.calls == ["initialize", "dispose"]


async def test_all_are_disposed_of_also_when_one_fails_and_when_the_program_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    adapters = [
        Living("a", dispose_error=KeyError("x")),
        Living("b", dispose_error=SystemExit(3)),
        Living("c"),
    ]
    with pytest.raises(ZeroDivisionError):
        async with adapter_lifecycle() as lifecycle:
            for adapter in adapters:
                lifecycle.add(adapter)
                lifecycle.add(adapter)
            raise ZeroDivisionError
    assert [adapter.calls for adapter in adapters] == [["dispose"]] * 3, "never used, yet closed"
    assert "The provider a could not be closed" in caplog.text


def test_what_an_adapter_raises_is_reported_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    adapter = Living("mine")
    with (
        pytest.raises(
            AIError, match=r"^Scripted could not change its models \(KeyError\)\."
        ) as raised,
        translated(adapter, "change its models"),
    ):
        raise KeyError("a secret")
    assert (raised.value.code, raised.value.provider) == (ErrorCode.ENGINE_ERROR, "mine")
    assert "Traceback" in caplog.text
    known = AIError(ErrorCode.TIMEOUT, "Too slow.")
    with pytest.raises(AIError) as raised, translated(adapter, "change its models"):
        raise known
    assert raised.value is known


async def test_the_catalog_initializes_before_the_first_use() -> None:
    registry = ProviderRegistry()
    good = Living("good", models=[ModelInfo(name="m")])
    broken = Living("broken", models=[ModelInfo(name="n")], init_error=RuntimeError())
    odd = Living("odd", list_error=None)

    async def raises() -> list[ModelInfo]:
        raise KeyError("of a plugin")

    odd.list_models = raises  # type: ignore[method-assign]
    for adapter in (good, broken, odd):
        registry.register(adapter)
    async with adapter_lifecycle() as lifecycle:
        catalog = ModelCatalog(registry)
        catalog.initialize = lifecycle.initialize
        listings = {one.provider: one for one in await catalog.refresh()}
        assert [info.name for info in listings["good"].models] == ["m"]
        assert "could not be initialized (RuntimeError)" in str(listings["broken"].problem)
        assert "could not list its models (KeyError)" in str(listings["odd"].problem)
        assert await catalog.adapter("good") is good
        with pytest.raises(AIError, match="could not be initialized"):
            await catalog.adapter("broken")
    assert good.calls == broken.calls == ["initialize", "dispose"]


async def test_dispose_waits_for_the_end_of_initialize() -> None:
    calls: list[str] = []

    class Slow(Living):
        async def initialize(self) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.wait_all_tasks_blocked()
                calls.append("initialize ended")

        async def dispose(self) -> None:
            calls.append("dispose")

    with anyio.fail_after(5):
        async with adapter_lifecycle() as lifecycle, anyio.create_task_group() as group:
            group.start_soon(lifecycle.initialize, Slow())
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert calls == ["initialize ended", "dispose"]


async def test_an_initialize_that_does_not_end_holds_dispose_up_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "DISPOSE_S", 0.02)
    gate = anyio.Event()

    class Stubborn(Living):
        async def initialize(self) -> None:
            with anyio.CancelScope(shield=True):
                await gate.wait()

        async def dispose(self) -> None:
            self.calls.append("dispose")
            gate.set()

    adapter = Stubborn()
    with anyio.fail_after(5):
        async with adapter_lifecycle() as lifecycle, anyio.create_task_group() as group:
            group.start_soon(lifecycle.initialize, adapter)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert adapter.calls == ["dispose"]


@pytest.mark.parametrize("is_native", [True, False])
async def test_the_cancellation_of_a_caller_is_no_fault_of_the_adapter(is_native: bool) -> None:
    ends: list[type[BaseException]] = []
    tasks: list[asyncio.Task[object]] = []

    async def wait() -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        try:
            with translated(Living("mine"), "answer"):
                await anyio.sleep_forever()
        except BaseException as error:
            ends.append(type(error))
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        if is_native:
            tasks[0].cancel()
        else:
            group.cancel_scope.cancel()
    assert ends == [asyncio.CancelledError]


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (None, "list_models returned NoneType."),
        ("models", "list_models returned str."),
        (["m"], "list_models returned str in place of ModelInfo."),
        ([ModelInfo(name=5)], "list_models returned ModelInfo.name as int."),  # type: ignore[arg-type]
        (
            [ModelInfo(name="m", details=None)],  # type: ignore[arg-type]
            "list_models returned ModelInfo.details as NoneType.",
        ),
        (SystemExit(3), "Scripted could not list its models (SystemExit)."),
        (asyncio.CancelledError(), "Scripted could not list its models (CancelledError)."),
    ],
)
async def test_what_an_adapter_lists_is_checked(given: object, reported: str) -> None:
    adapter, other = Living("odd"), Living("good", models=[ModelInfo(name="m")])

    async def give(*_: object) -> object:
        if isinstance(given, BaseException):
            raise given
        return given

    for method in ("list_models", "list_running", "show_model"):
        setattr(adapter, method, give)
    registry = ProviderRegistry()
    registry.register(adapter)
    registry.register(other)
    catalog = ModelCatalog(registry)
    listings = {one.provider: one for one in await catalog.refresh()}
    assert reported in str(listings["odd"].problem)
    assert listings["odd"].models == ()
    assert [info.name for info in listings["good"].models] == ["m"]
    with pytest.raises(AIError):
        await list_running(adapter)  # type: ignore[arg-type]
    with pytest.raises(AIError):
        await show_model(adapter, "m")  # type: ignore[arg-type]
