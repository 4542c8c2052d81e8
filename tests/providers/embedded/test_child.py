"""The engine's process as it really runs: closed to others, and gone with its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.support.engine import MODEL, embedded, is_running, needs_engine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine,
    needs_engine,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

ROOT = Path(__file__).resolve().parents[3]
PARENT = """
import subprocess, sys, anyio
from pathlib import Path
from ollm_tui.config.engine_settings import EngineSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.supervisor import Supervisor

async def main():
    settings = EmbeddedSettings(engine=EngineSettings(threads=1))
    supervisor = Supervisor(settings)
    library = FolderLibrary([Path(sys.argv[1])])
    async with EmbeddedProvider(library, settings, supervisor=supervisor) as provider:
        await provider.load_model(sys.argv[2])
        if sys.argv[3] == "hold":
            # Somebody else keeps the engine's input open: only the kernel can tell it then.
            held = supervisor.engines[0].process._popen.stdin.fileno()
            command = ["sleep", "20"]
            keeper = subprocess.Popen(command, pass_fds=[held], stdout=subprocess.DEVNULL)
            print(keeper.pid, flush=True)
        print(supervisor.engines[0].pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def start_parent(folder: Path, how: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder), MODEL, how],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # whoever runs the tests may ignore a hang-up, as under nohup; a child would inherit that
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )


def gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(pid):
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_the_engine_is_gone_when_its_parent_dies_of_a_signal(
    model_folder: Path, number: signal.Signals
) -> None:
    with start_parent(model_folder, "plainly") as parent:
        assert parent.stdout is not None
        engine = int(parent.stdout.readline())
        assert is_running(engine)
        try:
            os.kill(parent.pid, number)
            assert gone_within(engine, 5)
        finally:
            parent.kill()


def test_the_kernel_ends_the_engine_when_its_input_stays_open(model_folder: Path) -> None:
    with start_parent(model_folder, "hold") as parent:
        assert parent.stdout is not None
        keeper, engine = (int(parent.stdout.readline()) for _ in range(2))
        try:
            os.kill(parent.pid, signal.SIGKILL)
            assert gone_within(engine, 5)
            assert is_running(keeper)
        finally:
            os.kill(keeper, signal.SIGKILL)


async def test_only_the_holder_of_the_key_is_served_and_only_on_loopback(
    model_folder: Path,
) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        await provider.load_model(MODEL)
        (engine,) = supervisor.engines
        assert engine.url.startswith("http://127.0.0.1:")
        async with httpx.AsyncClient(base_url=engine.url) as client:
            asked = {"messages": [{"role": "user", "content": "hi"}]}
            assert (await client.post("/v1/chat/completions", json=asked)).status_code == 401
            assert (await client.get("/props")).status_code == 401
            web_page = {"origin": "http://evil.example", "authorization": f"Bearer {engine.key}"}
            answered = await client.get("/v1/models", headers=web_page)
            assert not answered.headers.get("access-control-allow-origin")
            assert "html" not in (await client.get("/")).headers.get("content-type", "")


async def test_modules_in_the_working_directory_are_not_run(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("json", "ctypes", "xllamacpp", "ollm_tui"):
        (trap / f"{name}.py").write_text("import os; os._exit(66)", encoding="utf-8")
    monkeypatch.chdir(trap)
    async with embedded(model_folder) as (provider, _):
        await provider.load_model(MODEL)


async def test_the_engine_prints_nothing(
    model_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with embedded(model_folder) as (provider, _):
        await provider.load_model(MODEL)
    assert capfd.readouterr() == ("", "")


def test_the_child_needs_of_the_app_only_what_engines_share() -> None:
    child = ROOT / "ollm_tui" / "providers" / "embedded" / "child.py"
    code = (
        f"import runpy, sys; runpy.run_path({str(child)!r}, run_name='child');"
        "loaded = {name for name in sys.modules if name.split('.')[0] in"
        " ('textual', 'httpx', 'anyio', 'pydantic', 'ollm_tui')};"
        "print(sorted(loaded - {'ollm_tui', 'ollm_tui.engines'}))"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "['ollm_tui.engines.frames', 'ollm_tui.engines.host']"
