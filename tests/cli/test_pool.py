"""A pool from the settings file, asked by the real program."""

import json
from pathlib import Path

from tests.cli.conftest import Ollm
from tests.providers.asking import closed_port
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Received, Reply, in_thread


def settings(folder: Path, *urls: str) -> str:
    file = folder / "c.toml"
    file.write_text(f'[providers.vllm]\nbase_urls = {json.dumps(urls)}\napi_key_env = "TEAM_KEY"\n')
    return str(file)


async def busy(request: Received, reply: Reply) -> None:
    """List models, and have no room for an answer."""
    if request.path.endswith("/chat/completions"):
        await reply.json({"error": {"message": "The queue is full."}}, 503)
    else:
        await FakeOpenAI(key="k-1")(request, reply)


def test_a_server_without_room_is_reported_and_another_one_answers(
    ollm: Ollm, tmp_path: Path
) -> None:
    with in_thread(busy) as full, in_thread(FakeOpenAI(key="k-1")) as server:
        addressed = ""
        asked = ("--config", settings(tmp_path, full.url, server.url), "-p", "hello")
        for _ in range(20):  # which of the two is asked first is left to chance
            if addressed:
                break
            done = ollm(*asked, "--model", "vllm://tiny", TEAM_KEY="k-1")
            assert (done.returncode, done.stdout) == (0, "Hello, world!\n")
            addressed += done.stderr
    assert "The queue is full. Trying another server." in addressed


def test_a_dead_server_does_not_delay_models_and_answers(ollm: Ollm, tmp_path: Path) -> None:
    with in_thread(FakeOpenAI(key="k-1")) as server:
        file = settings(tmp_path, f"http://127.0.0.1:{closed_port()}", server.url)
        done = ollm("--config", file, "-p", "hello", "--model", "vllm://tiny", TEAM_KEY="k-1")
        listed = ollm("--config", file, "models", "list", TEAM_KEY="k-1")
    assert (done.returncode, done.stdout) == (0, "Hello, world!\n")
    assert "vllm://tiny" in listed.stdout


def test_with_all_servers_dead_the_error_says_how_many_and_what_to_do(
    ollm: Ollm, tmp_path: Path
) -> None:
    file = settings(tmp_path, *(f"http://127.0.0.1:{closed_port()}" for _ in range(3)))
    done = ollm("--config", file, "-p", "hello", "--model", "vllm://tiny", TEAM_KEY="k-1")
    assert done.returncode != 0
    assert "None of the 3 servers of vLLM answers." in done.stderr
    assert "base_urls below [providers.vllm]" in done.stderr
