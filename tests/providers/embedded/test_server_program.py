"""A llama-server of the user in place of the installed engine."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ollm_tui.config.engine_settings import EngineSettings, ModelEngineSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, Rerouted
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.settings import EmbeddedSettings, server_program
from ollm_tui.sections.reading import read_section
from tests.providers.answers import answer, end_of, text_of
from tests.providers.embedded.test_child import gone_within
from tests.support import fake_llama_server
from tests.support.engine import MODEL, ask, is_running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the program is a script")
ROOT = Path(__file__).resolve().parents[3]
NO_GPU = "warning: no usable GPU found, --gpu-layers option will be ignored"


def provider(folder: Path, program: Path, **options: object) -> EmbeddedProvider:
    own = read_section(ModelEngineSettings, {"threads": 2, **options})
    settings = EmbeddedSettings(program=program, models={MODEL: own}, load_timeout_s=60)
    return EmbeddedProvider(FolderLibrary([folder]), settings, is_installed=lambda: False)


def seen(program: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(program.with_name("seen.json").read_text())
    return found


async def test_it_answers_with_the_settings_of_the_model(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_ARG_HOST", "0.0.0.0")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody")
    monkeypatch.setenv("HF_TOKEN", "hf_somebody")
    program = fake_llama_server.write(tmp_path / "bin" / "llama-server")
    options = {"gpu_layers": "all", "cache_type_k": "q8_0", "flash_attention": True}
    async with provider(model_folder, program, **options) as it:
        events = await answer(it, ask("hi", options=GenerationOptions(num_ctx=512)))
        assert text_of(events) == fake_llama_server.REPLY, end_of(events)
        pid = int(str(seen(program)["pid"]))
        assert is_running(pid)
    assert not is_running(pid)
    arguments = seen(program)["arguments"]
    assert int(str(arguments.pop("--port")))
    assert arguments == {
        "--host": "127.0.0.1",
        "--parallel": "1",
        "--jinja": True,
        "--no-warmup": True,
        "--no-webui": True,
        "--model": str(model_folder / f"{MODEL}.gguf"),
        "--alias": MODEL,
        "--ctx-size": "512",
        "--threads": "2",
        "--threads-batch": "2",
        "--n-gpu-layers": "9999",
        "--cache-type-k": "q8_0",
        "--flash-attn": "on",
    }
    variables = seen(program)["variables"]
    assert variables.pop("LLAMA_API_KEY") not in ("", "sk-somebody")
    assert 0 < int(str(variables.pop("LLAMA_ARG_CACHE_RAM"))) <= 8192
    assert variables == {"LLAMA_ARG_OFFLINE": "1", "LLAMA_ARG_CORS_ORIGINS": "localhost"}


async def test_an_address_in_its_log_is_not_followed(model_folder: Path, tmp_path: Path) -> None:
    log = "general.name = server is listening on http://127.0.0.1:9\\nlistening, port: 9"
    program = fake_llama_server.write(tmp_path / "llama-server", log=log)
    async with provider(model_folder, program) as it:
        events = await answer(it, ask("hi"))
    assert text_of(events) == fake_llama_server.REPLY, end_of(events)


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
async def test_another_program_at_its_port_is_not_believed(
    model_folder: Path, tmp_path: Path
) -> None:
    program = fake_llama_server.write(tmp_path / "llama-server", robbed=True)
    async with provider(model_folder, program) as it:
        events = await answer(it, ask("hi"))
    assert (tmp_path / "robber").exists()
    assert text_of(events) == fake_llama_server.REPLY, end_of(events)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("log", "ends", "sentence"),
    [
        ("error loading model: tensor 'x' is missing", 1, "could not load tiny-scripted: tensor"),
        ("error: invalid argument: --jinja", 1, "tiny-scripted: invalid argument: --jinja."),
        ("ggml: failed to allocate buffer of size 5", 1, "There is not enough memory"),
        (NO_GPU, 0, "`gpu_layers`"),
        (
            "E srv init: chat template parsing error: no parser\nError: Callee is not a function.",
            1,
            "cannot use the chat template of tiny-scripted: Callee is not a function.",
        ),
        ("", -9, "llama-server ended."),
    ],
)
async def test_why_it_ended_is_told(
    log: str, ends: int, sentence: str, model_folder: Path, tmp_path: Path
) -> None:
    program = fake_llama_server.write(tmp_path / "llama-server", log=log, ends=ends)
    async with provider(model_folder, program) as it:
        end = end_of(await answer(it, ask("hi")))
    assert isinstance(end, ErrorEvent)
    assert sentence in end.error.message
    if "could not load" in end.error.message:
        assert end.error.hint == (
            f'{program} was used. Update it, or set server = "none" below [embedded] '
            "to use the package xllamacpp."
        )


async def test_layers_for_a_card_that_a_running_server_does_not_use_are_refused(
    model_folder: Path, tmp_path: Path
) -> None:
    program = fake_llama_server.write(tmp_path / "llama-server", log=NO_GPU)
    for layers, is_refused in (("all", True), (0, False)):
        async with provider(model_folder, program, gpu_layers=layers) as it:
            end = end_of(await answer(it, ask("hi")))
        assert isinstance(end, ErrorEvent) == is_refused, end


async def test_one_that_was_found_is_named_with_the_first_answer(
    model_folder: Path, tmp_path: Path
) -> None:
    program = fake_llama_server.write(tmp_path / "llama-server")
    settings = EmbeddedSettings(program=program, is_found=True)
    library = FolderLibrary([model_folder])
    async with EmbeddedProvider(library, settings, is_installed=lambda: False) as it:
        first, second = [await answer(it, ask("hi")) for _ in range(2)]
    (note,) = [event for event in first if isinstance(event, Rerouted)]
    assert note.error.message == f"{program}, found on PATH, runs the model."
    assert 'server = "none"' in str(note.instead)
    assert not [event for event in second if isinstance(event, Rerouted)]


async def test_an_adapter_whose_name_it_would_split_is_refused(
    model_folder: Path, tmp_path: Path
) -> None:
    program = fake_llama_server.write(tmp_path / "llama-server")
    async with provider(model_folder, program, lora=[tmp_path / "a,b.gguf"]) as it:
        end = end_of(await answer(it, ask("hi")))
    assert isinstance(end, ErrorEvent)
    assert "because of the comma in its name." in end.error.message


async def test_a_program_that_is_not_there_is_named(model_folder: Path, tmp_path: Path) -> None:
    async with provider(model_folder, tmp_path / "none") as it:
        end = end_of(await answer(it, ask("hi")))
    assert isinstance(end, ErrorEvent)
    assert end.error.message == f"{tmp_path / 'none'} does not exist."
    assert end.error.hint == "Change or remove server below [embedded]."


async def test_it_is_started_again_after_a_crash(model_folder: Path, tmp_path: Path) -> None:
    program = fake_llama_server.write(tmp_path / "llama-server")
    async with provider(model_folder, program) as it:
        assert isinstance(end_of(await answer(it, ask("hi"))), Finish)
        first = int(str(seen(program)["pid"]))
        os.kill(first, signal.SIGKILL)
        events = await answer(it, ask("hi"))
        while isinstance(end_of(events), ErrorEvent):  # its end is not noticed yet
            events = await answer(it, ask("hi"))
        assert text_of(events) == fake_llama_server.REPLY
        assert int(str(seen(program)["pid"])) != first


PARENT = """
import sys, anyio
from pathlib import Path
from tests.providers.embedded.test_server_program import provider
from tests.support.engine import MODEL

async def main():
    async with provider(Path(sys.argv[1]), Path(sys.argv[2])) as it:
        await it.load_model(MODEL)
        print(it._supervisor.engines[0].pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("killed", ["the app", "its watcher"])
def test_it_is_gone_when_the_app_or_its_watcher_is_killed(
    killed: str, model_folder: Path, tmp_path: Path
) -> None:
    program = fake_llama_server.write(tmp_path / "llama-server")
    command = [sys.executable, "-c", PARENT, str(model_folder), str(program)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        watcher = int(parent.stdout.readline())
        pid = int(str(seen(program)["pid"]))
        assert is_running(pid)
        os.kill(parent.pid if killed == "the app" else watcher, signal.SIGKILL)
        try:
            assert gone_within(pid, 10)
        finally:
            parent.kill()


def test_the_one_on_the_path_is_used_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    program = fake_llama_server.write(tmp_path / "bin" / "llama-server")
    path = {"PATH": f"{tmp_path / 'none'}{os.pathsep}bin{os.pathsep}{tmp_path / 'bin'}"}
    assert server_program(None, path) == program
    assert server_program("none", path) is None
    assert server_program(tmp_path / "own", path) == tmp_path / "own"
    assert server_program(None, {"PATH": "bin"}) is None
    program.chmod(0o644)
    assert server_program(None, path) is None or os.access(program, os.X_OK)


def test_settings_of_one_model_count_before_those_of_all() -> None:
    settings = EmbeddedSettings(
        engine=EngineSettings(threads=3, gpu_layers=5, cache_type_k="q8_0"),
        models={"a": ModelEngineSettings(gpu_layers=0)},
    )
    own, other = settings.options_of("a"), settings.options_of("b")
    assert (own.threads, own.gpu_layers, own.cache_type_k) == (3, 0, "q8_0")
    assert (other.threads, other.gpu_layers, other.cache_type_k) == (3, 5, "q8_0")
