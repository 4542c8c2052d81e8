"""`ollm doctor`: what it finds, what it advises, what it keeps to itself, and how long it takes."""

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.cli.conftest import Ollm
from tests.cli.fake_ollama import FakeOllama
from tests.providers.engines import SHAPES, Shape
from tests.support.fake_ollama import OllamaServer
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, Received, Reply, in_thread

ATTACK = "\x1b[2J\x1b]0;owned\x07 [/red] \u202e\nword"
SLOWEST_S = 20.0
"""For a whole program on a machine that does other work too; alone it takes about two."""


@pytest.fixture
def home(tmp_path: Path) -> Mapping[str, str]:
    folder = tmp_path / "home-of-somebody"
    folder.mkdir()
    places = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE")}
    return {"HOME": str(folder), **places, "OLLAMA_HOST": "127.0.0.1:9"}


def settings(tmp_path: Path, text: str) -> str:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    file.chmod(0o600)
    return str(file)


def report(ollm: Ollm, home: Mapping[str, str], *arguments: str, **more: str) -> dict[str, Any]:
    done = ollm("doctor", "--json", *arguments, **{**home, **more})
    assert "Traceback" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if found["can_chat"] else 1)
    return found


def provider(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [one for one in found["providers"] if one["name"] == name]
    return dict(one)


def test_what_answers_is_reported_with_all_that_it_can_do(
    ollm: Ollm, home: Mapping[str, str], fake: FakeOllama
) -> None:
    found = report(ollm, home, OLLAMA_HOST=fake.url)
    assert found["can_chat"] is True
    assert found["model"] == "local://tiny:1b"
    one = provider(found, "local")
    port = fake.url.rpartition(":")[2]
    assert (one["state"], one["engine"], one["version"]) == ("ok", "Ollama", "0.12.0")
    assert one["address"] == f"localhost:{port}"
    assert one["latency_ms"] >= 1
    assert (one["models"], one["chat_models"]) == (1, 1)
    assert {"chat", "list", "show"} <= set(one["offers"])
    text = ollm("doctor", **{**home, "OLLAMA_HOST": fake.url})
    assert text.returncode == 0
    assert f"ok ollama: Ollama 0.12.0 at localhost:{port}" in text.stdout
    assert "New chats use ollama://tiny:1b" in " ".join(text.stdout.split())


def test_what_is_missing_has_a_next_step_and_the_exit_code_says_so(
    ollm: Ollm, home: Mapping[str, str]
) -> None:
    done = ollm("doctor", **home)
    assert done.returncode == 1
    words = " ".join(done.stdout.split())
    assert "!! ollama: Ollama at localhost:9" in done.stdout
    assert "-> Start it with `ollama serve`" in words
    assert "`ollm models starter` downloads a small one." in words
    assert "Sound and pictures" in done.stdout
    assert " transcribe: whisper.cpp" in words
    assert " speak: espeak-ng" in words
    assert "You cannot chat yet" in words
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == ""


def test_folders_of_other_programs_are_reported_with_the_setting_that_adds_them(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    studio = Path(home["HOME"]) / ".lmstudio" / "models" / "ada"
    studio.mkdir(parents=True)
    for name in ("one.gguf", "two.gguf"):
        (studio / name).write_bytes(b"GGUF")
    found = report(ollm, home)
    assert found["other_folders"] == [
        {"program": "LM Studio", "path": "~/.lmstudio/models", "models": 2, "listed": False}
    ]
    assert found["other_folders_setting"] == 'other_folders = ["lmstudio"]'
    text = " ".join(ollm("doctor", **home).stdout.split())
    assert "-- LM Studio: ~/.lmstudio/models holds 2 models -> " in text
    assert '`other_folders = ["lmstudio"]` below [embedded] has them listed.' in text
    file = settings(tmp_path, '[embedded]\nother_folders = ["lmstudio"]\n')
    text = " ".join(ollm("doctor", "--config", file, **home).stdout.split())
    assert "ok LM Studio: ~/.lmstudio/models holds 2 models, which are listed" in text
    assert "has them listed." not in text


def test_an_ollama_without_models_comes_with_the_way_to_get_one(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    empty = OllamaServer()
    empty.models.clear()
    empty.loaded.clear()
    with in_thread(empty) as server:
        text = f'[providers.attic]\nkind = "ollama"\nbase_url = "{server.url}"\n'
        attic = provider(report(ollm, home, "--config", settings(tmp_path, text)), "attic")
    assert attic["state"] == "empty"
    assert "`ollm models pull attic://qwen3:4b`" in attic["advice"]


def test_an_engine_is_reported_as_what_it_is_and_a_wrong_setting_is_reported(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    with in_thread(SHAPES["llama.cpp, which imitates ollama"]) as server:
        text = f'[providers.box]\nbase_url = "{server.url}"\nbackend = "vllm"\n'
        found = report(ollm, home, "--config", settings(tmp_path, text), OLLAMA_HOST=server.url)
    as_ollama, box = provider(found, "local"), provider(found, "box")
    assert (as_ollama["engine"], as_ollama["label"]) == ("llama.cpp", "llama.cpp")
    assert "count tokens" in as_ollama["offers"]
    assert box["engine"] == "llama.cpp"
    assert "take `backend` out of [providers.box]" in box["advice"]


def test_a_key_that_is_missing_or_wrong_is_reported_and_none_is_shown(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    planted = "sk-planted-0123456789"
    with in_thread(FakeOpenAI(key="another")) as server:
        address = server.url.replace("http://", "http://user:planted-password@")
        text = f'[providers.open]\nbase_url = "{server.url}"\n'
        text += f'[providers.keyed]\nbase_url = "{address}"\napi_key = "{planted}"\n'
        file = settings(tmp_path, text)
        found = report(ollm, home, "--config", file, ANTHROPIC_API_KEY="")
        shown = ollm("doctor", "--config", file, **home)
    assert provider(found, "open")["state"] == "failed"
    assert provider(found, "open")["advice"] == "Set api_key_env below [providers.open]."
    assert provider(found, "keyed")["advice"] == "Check the API key of provider keyed."
    assert provider(found, "keyed")["has_key"] is True
    for output in (json.dumps(found), shown.stdout, shown.stderr):
        assert "planted" not in output


def test_a_key_that_is_an_ordinary_word_is_taken_out_of_what_was_found_alone(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    text = '[providers.attic]\nkind = "ollama"\nbase_url = "http://127.0.0.1:9"\n'
    file = settings(tmp_path, text + 'api_key = "ollama"\n')
    found = report(ollm, home, "--config", file)
    shown = ollm("doctor", "--config", file, **home).stdout
    assert "`ollama serve`" in provider(found, "attic")["advice"]
    assert "Start it with `ollama serve`" in shown
    pool = 'base_urls = ["http://127.0.0.1:9", "http://127.0.0.1:10"]'
    text = f'[providers.models]\nkind = "ollama"\n{pool}\napi_key = "models"\n'
    file = settings(tmp_path, text)
    shown = ollm("doctor", "--config", file, **home).stdout
    assert "`ollm models starter`" in shown
    assert "[providers.«key»]" in " ".join(shown.split())
    assert "!! «key»: " in shown, "what came from the settings is searched all the same"


def test_the_servers_of_a_pool_that_do_not_answer_are_named(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    with in_thread(SHAPES["vllm"]) as server:
        text = '[providers.team]\nbackend = "vllm"\nbase_urls = ["http://127.0.0.1:9", '
        text += f'"{server.url}"]\n'
        file = settings(tmp_path, text)
        found = provider(report(ollm, home, "--config", file), "team")
        shown = ollm("doctor", "--config", file, **{**home, "OLLAMA_HOST": ""})
    there = server.url.removeprefix("http://").replace("127.0.0.1", "localhost")
    assert (found["state"], found["answer"], found["no_answer"]) == ("ok", [there], ["localhost:9"])
    assert (found["address"], found["engine"]) == (there, "vLLM")
    assert ", 1 of 2 servers answer, " in shown.stdout
    assert f"\n   answer from {there}\n" in shown.stdout
    assert "take it out of base_urls below [providers.team]" in found["advice"]
    assert "\n   no answer from localhost:9\n" in shown.stdout
    assert shown.returncode == 0


def test_keys_of_the_environment_are_reported_and_paths_name_no_user(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    key = "sk-planted-in-the-environment"
    text = '[providers.vllm]\nbase_url = "http://127.0.0.1:9"\n'
    file = settings(tmp_path, text)
    found = report(ollm, home, "--config", file, VLLM_API_KEY=key, OPENAI_API_KEY="")
    assert found["keys"]["VLLM_API_KEY"] is True
    assert found["keys"]["OPENAI_API_KEY"] is False
    assert "planted" not in json.dumps(found)
    assert "home-of-somebody" not in json.dumps(found)
    assert [one["path"] for one in found["folders"]] == ["~/DATA/ollm", "~/STATE/ollm"]


async def silent(_request: Received, _reply: Reply) -> None:
    await anyio.sleep_forever()


async def endless(_request: Received, reply: Reply) -> None:
    await reply.start()
    while True:
        await reply.write(b'{"models": [' + b" " * 5000)


HOSTILE: Mapping[str, Handler] = {
    "silent": silent,
    "endless": endless,
    "page": SHAPES["a web page"],
    "nested": SHAPES["nested deeply"],
    "types": SHAPES["wrong types"],
    "redirect": SHAPES["one that redirects"],
    "words": Shape(
        "kobold",
        {
            "/api/extra/version": {"result": "KoboldCpp", "version": ATTACK},
            "/v1/models": {"error": {"message": ATTACK * 100}},
        },
        statuses={"/v1/models": 500},
    ),
}


def test_hostile_servers_side_by_side_cost_little_and_drive_no_terminal(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        text = ""
        for name, handler in HOSTILE.items():
            server = stack.enter_context(in_thread(handler))
            text += f'[providers.{name}]\nbase_url = "{server.url}"\n'
        good = stack.enter_context(in_thread(SHAPES["vllm"]))
        text += f'[providers.good]\nbase_url = "{good.url}"\n'
        file = settings(tmp_path, text)
        home = {**home, "OLLAMA_HOST": ""}  # a host that is named has to answer
        began = time.monotonic()
        done = ollm("doctor", "--config", file, **home)
        assert time.monotonic() - began < SLOWEST_S
        found = report(ollm, home, "--config", file)
    assert done.returncode == 0
    assert found["model"] == "good://m0"
    assert not [c for c in done.stdout if ord(c) < 32 and c != "\n"]
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert {provider(found, name)["state"] for name in HOSTILE} <= {"failed", "empty"}
    assert "Another program answers" in provider(found, "page")["advice"]
    assert "check its log" in provider(found, "silent")["advice"]


def test_a_broken_settings_file_is_part_of_the_report(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    file = settings(tmp_path, "theme = \n")
    found = report(ollm, home, "--config", file)
    assert found["settings"]["problems"][0]["severity"] == "error"
    assert "`ollm config check`" in ollm("doctor", "--config", file, **home).stdout


def test_a_data_folder_that_cannot_be_written_keeps_one_from_chatting(
    ollm: Ollm, home: Mapping[str, str], fake: FakeOllama, tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("")
    environ = {**home, "XDG_DATA_HOME": str(tmp_path / "a-file"), "OLLAMA_HOST": fake.url}
    done = ollm("doctor", **environ)
    assert done.returncode == 1
    assert "!! data:" in done.stdout
    assert "check its permissions" in done.stdout


def test_an_engine_that_is_not_where_the_settings_say_is_reported(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    file = settings(tmp_path, f'[embedded]\nserver = "{tmp_path}/gone"\n')
    text = " ".join(ollm("doctor", "--config", file, **home).stdout.split())
    # a path that is wider than the report is broken
    assert f"--engine:{tmp_path}/gonedoesnotexist" in text.replace(" ", "")
    assert "-> Change or remove server below [embedded]." in text
    assert report(ollm, home, "--config", file)["engine_installed"] is False
