"""The same program against servers, and when something is wrong with them."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import OLLM, Start, ask, environment, ready
from tests.support.engine import needs_engine
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Received, Reply, in_thread
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.pty


@contextmanager
def llama_server(model: Path) -> Iterator[tuple[str, str]]:
    """Serve a model with the real llama.cpp server, as anybody would; gives its URL and key."""
    script = (
        "import sys, xllamacpp as x\n"
        "p = x.CommonParams(); p.model.path = sys.argv[1]; p.n_ctx = 4096; p.n_parallel = 1\n"
        "p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1\n"
        "p.hostnames = ['127.0.0.1']; p.port = 0; p.api_keys = ['secret-key']; p.verbosity = -1\n"
        "p.use_jinja = True; p.warmup = False; p.model_alias = {'scripted'}\n"
        "s = x.Server(p); print(s.listening_address, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip(), "secret-key"
        finally:
            server.kill()


def test_chatting_with_ollama(start: Start, home: Path) -> None:
    with in_thread(fake_ollama) as server, start(home, env={"OLLAMA_HOST": server.url}) as session:
        ready(session)
        assert "ollama" in session.screen_text().splitlines()[0]
        ask(session, "markdown")
        session.wait_for("tok/s", timeout=10)
        ask(session, "forever")
        session.wait_for("Esc stop")
        session.write(b"\x1b")
        session.wait_for("Stopped", timeout=2)


def test_chatting_with_an_openai_compatible_server(start: Start, home: Path) -> None:
    env = {"OPENAI_COMPATIBLE_API_KEY": "k-123"}
    with in_thread(FakeOpenAI(key="k-123")) as server:
        env["OPENAI_COMPATIBLE_HOST"] = server.url
        with start(home, env=env) as session:
            ready(session)
            assert "openai-compatible" in session.screen_text().splitlines()[0]
            ask(session, "hello")
            session.wait_for("first token", timeout=10)
            assert b"k-123" not in session.raw


@pytest.mark.engine
@needs_engine
def test_chatting_with_a_real_llama_server(start: Start, home: Path, scripted_model: Path) -> None:
    with llama_server(scripted_model) as (url, key):
        env = {"OPENAI_COMPATIBLE_HOST": url, "OPENAI_COMPATIBLE_API_KEY": key}
        with start(home, "--provider", "openai-compatible", env=env) as session:
            ready(session)
            ask(session, "please think")
            session.wait_for("The answer is 4", timeout=20)
            session.wait_for("thought for")


def test_no_server_and_no_model_is_a_sentence_and_the_prompt_stays_usable(
    start: Start, home: Path
) -> None:
    with start(home, env={"OLLAMA_HOST": "127.0.0.1:9"}) as session:
        session.wait_for("does not answer", timeout=20)
        session.write("still typing")
        session.wait_for("still typing")


def test_an_unknown_model_is_one_sentence_with_who_was_asked(start: Start, home: Path) -> None:
    with in_thread(fake_ollama) as server, _started(start, home, server.url) as session:
        session.wait_for("no model named 'nonesuch'", timeout=20)
        ask(session, "/model local://tiny:latest")
        session.wait_for("Now using", timeout=10)
        ask(session, "hello")
        session.wait_for("first token", timeout=10)


def _started(start: Start, home: Path, url: str) -> AbstractContextManager[PtySession]:
    return start(home, "--model", "nonesuch", env={"OLLAMA_HOST": url})


async def _web_page(_request: Received, reply: Reply) -> None:
    await reply.whole(b"<html><title>Router login</title></html>", 200, "text/html")


def test_a_web_page_in_place_of_an_api_is_named_as_one(start: Start, home: Path) -> None:
    with in_thread(_web_page) as server:
        model = ("--model", "local://tiny")
        with start(home, *model, env={"OLLAMA_HOST": server.url}) as session:
            session.wait_for("a web page instead of data", timeout=20)
            ask(session, "hello")
            session.wait_for("r to try again", timeout=10)


def test_a_broken_settings_file_is_named_and_the_app_goes_on(start: Start, home: Path) -> None:
    file = home / "config" / "ollm" / "config.toml"
    file.write_text('theem = "dusk"\n[options]\ntemperature = "warm"\n')
    with in_thread(fake_ollama) as server, start(home, env={"OLLAMA_HOST": server.url}) as session:
        session.wait_for("theem", timeout=20)
        session.wait_for("theme")
        session.wait_for("temperature")
        ask(session, "hello")
        session.wait_for("first token", timeout=10)


def test_without_a_terminal_there_is_one_line_and_exit_two(home: Path) -> None:
    done = subprocess.run(
        OLLM,
        env={"PATH": "/usr/bin:/bin", **environment(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
