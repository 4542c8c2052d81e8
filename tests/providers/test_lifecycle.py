"""Each adapter is initialized once and disposed of once, whatever the others do."""

from dataclasses import dataclass, field

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers import lifecycle as module
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.lifecycle import adapter_lifecycle, translated
from ollm_tui.providers.registry import ProviderRegistry
from tests.support.providers import ScriptedProvider


@dataclass
class Living(ScriptedProvider):
    """Counts, and fails or waits as a test says."""

    calls: list[str] = field(default_factory=list)
    init_gate: anyio.Event | None = None
    init_error: Exception | None = None
    dispose_error: Exception | None = None

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
    ],
)
async def test_a_failure_is_told_at_each_use_and_to_no_other(error: Exception, words: str) -> None:
    broken, good = Living("broken", init_error=error), Living("good")
    async with adapter_lifecycle() as lifecycle:
        for _ in range(2):
            with pytest.raises(AIError, match=words) as raised:
                await lifecycle.initialize(broken)
            assert raised.value.provider == "broken"
        await lifecycle.initialize(good)
    assert broken.calls == good.calls == ["initialize", "dispose"]


async def test_an_adapter_that_is_never_ready_is_told_and_ended(
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
    adapters = [Living("a", dispose_error=KeyError("x")), Living("b"), Living("c")]
    with pytest.raises(ZeroDivisionError):
        async with adapter_lifecycle() as lifecycle:
            for adapter in adapters:
                lifecycle.add(adapter)
                lifecycle.add(adapter)
            raise ZeroDivisionError
    assert [adapter.calls for adapter in adapters] == [["dispose"]] * 3, "never used, yet closed"
    assert "The provider a could not be closed" in caplog.text


def test_what_an_adapter_raises_is_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
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
