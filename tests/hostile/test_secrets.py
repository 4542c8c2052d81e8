"""Keys leave the program towards their server alone, whatever goes wrong."""

import base64
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import pytest

from tests.e2e.conftest import environment
from tests.hostile.homes import make_home
from tests.support.canaries import coded
from tests.support.forked import Forks
from tests.support.http_server import Handler, Received, Reply, in_thread
from tests.support.pty_session import PtySession
from tests.support.seeds import sampled

pytestmark = pytest.mark.pty

VARIABLES = {
    "OPENAI_COMPATIBLE_API_KEY": "canary-one/AAAA+1111",
    "MY_TEAM_KEY": "canary-two-BBBB-2222",
    "OPENAI_API_KEY": "canary-three-CCCC-3333",
    "HF_TOKEN": "canary-four-DDDD-4444",
    "OLLM_PROVIDERS__MINE__API_KEY": "canary-five-EEEE-5555",
}
LITERAL, HEADER, PASSWORD = "canary-six-FFFF-6666", "canary-seven-GGGG-7777", "canary-eight-HH8"
CANARIES = (*VARIABLES.values(), LITERAL, HEADER, PASSWORD, "canary")
CRASH = (
    "import sys\n"
    "from ollm_tui.tui.chat.prompting.prompt_queue import PromptQueue\n"
    "async def broken(self, prompt):\n"
    "    secret = sys.argv[1]\n"
    "    raise RuntimeError(f'failed with {secret!r}')\n"
    "PromptQueue._send = broken\n"
    "from ollm_tui.cli import main\n"
    "sys.exit(main(sys.argv[2:]))\n"
)


def found_in(data: bytes) -> set[str]:
    """Name the canaries that stand in some bytes, in lines that were broken too."""
    joined = data.replace(b"\r", b"").replace(b"\n", b"")
    return {c for c in CANARIES for form in coded(c) if form in data or form in joined}


def written(home: Path, given: frozenset[Path]) -> dict[str, set[str]]:
    """Name the files the program wrote that hold a canary."""
    files = [path for path in home.rglob("*") if path.is_file() and path not in given]
    return {str(path): names for path in files if (names := found_in(path.read_bytes()))}


def echo(request: Received) -> str:
    """Say what a careless server would: the key that it was given, in all its forms."""
    credentials = request.headers.get("authorization", "") + " " + request.headers.get("x-team", "")
    words = [word for word in credentials.split() if len(word) > 6]
    return " ".join([*words, *(quote(word, safe="") for word in words)])


async def refuses(request: Received, reply: Reply) -> None:
    error = {"message": f"Incorrect API key: {echo(request)}", "code": echo(request)}
    await reply.json({"error": error | {"type": echo(request), "param": echo(request)}}, 401)


async def refuses_plainly(request: Received, reply: Reply) -> None:
    await reply.whole(f"no {echo(request)}".encode(), 500, "text/plain")


async def shows_a_page(request: Received, reply: Reply) -> None:
    body = f"<html><title>{echo(request)}</title></html>".encode()
    await reply.whole(body, 502, "text/html")


async def redirects(request: Received, reply: Reply) -> None:
    target = f"http://127.0.0.1:9/?key={quote(echo(request))}"
    await reply.whole(b"", 302, "text/plain", {"location": target})


async def reasons(request: Received, reply: Reply) -> None:
    await reply.raw(f"HTTP/1.1 400 bad {echo(request)}\r\ncontent-length: 0\r\n\r\n".encode())


async def breaks_off(request: Received, reply: Reply) -> None:
    await reply.start(content_type="text/event-stream")
    await reply.write(b'data: {"error": {"message": "' + echo(request).encode() + b'"}}\n\n')


async def is_no_http(_request: Received, reply: Reply) -> None:
    await reply.raw(b"SSH-2.0-OpenSSH\r\n")


SERVERS: Mapping[str, Handler] = {
    "401 with the key": refuses,
    "500 with the key": refuses_plainly,
    "a page with the key": shows_a_page,
    "a redirect with the key": redirects,
    "a reason with the key": reasons,
    "a stream that ends with the key": breaks_off,
    "no HTTP": is_no_http,
}


def settings(home: Path, url: str) -> frozenset[Path]:
    """Write keys into the settings; give the files that hold them rightly."""
    file = home / "config" / "ollm" / "config.toml"
    with_password = url.replace("http://", f"http://user:{PASSWORD}@")
    file.write_text(
        f'[providers.literal]\nkind = "openai-compatible"\nbase_url = "{url}"\n'
        f'api_key = "{LITERAL}"\nheaders = {{ "X-Team" = "{HEADER}" }}\n'
        f'[providers.named]\nkind = "openai-compatible"\nbase_url = "{url}"\n'
        'api_key_env = "MY_TEAM_KEY"\n'
        f'[providers.user]\nkind = "openai-compatible"\nbase_url = "{with_password}"\n'
    )
    return frozenset({file})


class Command(Protocol):
    def __call__(self, home: Path, *arguments: str, **environ: str) -> bytes: ...


@pytest.fixture
def command(forks: Forks) -> Command:
    """Run a command; give all that it printed."""

    def run(home: Path, *arguments: str, **environ: str) -> bytes:
        env = {"PATH": "/usr/bin:/bin", **environment(home), **VARIABLES, **environ}
        done = forks.run(arguments, environ=env, cwd=home, given=None, timeout_s=60)
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize("name", sampled(SERVERS, 1))
def test_a_server_that_echoes_keys_gets_none_of_them_shown(
    name: str, command: Command, tmp_path: Path
) -> None:
    home = make_home(tmp_path / "home")
    with in_thread(SERVERS[name]) as server:
        given, host = settings(home, server.url), {"OPENAI_COMPATIBLE_HOST": server.url}
        for provider in ("literal", "named", "user"):
            chosen = ("--model", f"{provider}://m", "-p", "hello")
            printed = command(home, *chosen, "--json", **host)
            assert printed
            assert found_in(printed) == set()
        assert found_in(command(home, "models", "list", **host)) == set()
        if name != "no HTTP":
            keys = [request.headers.get("authorization", "") for request in server.received]
            assert any(LITERAL in key for key in keys)
            assert any(VARIABLES["MY_TEAM_KEY"] in key for key in keys)
    assert written(home, given) == {}


@dataclass(frozen=True)
class Mistake:
    """Something wrong in the settings, beside keys."""

    text: str = ""
    arguments: tuple[str, ...] = ("config", "check")
    environ: Mapping[str, str] = field(default_factory=dict)


MISTAKES: Mapping[str, Mistake] = {
    "a key that is a number": Mistake('[providers.x]\nkind = "ollama"\napi_key = 1\n'),
    "a key in a list": Mistake(f'[providers.x]\nkind = "ollama"\napi_key = ["{LITERAL}"]\n'),
    "a key in the wrong place": Mistake(f'api_key = "{LITERAL}"\n'),
    "a misspelled key": Mistake(f'[providers.x]\napi_kee = "{LITERAL}"\n'),
    "headers as a text": Mistake(f'[providers.x]\nheaders = "{HEADER}"\n'),
    "a header that is a table": Mistake(f'[providers.x.headers.a]\nb = "{HEADER}"\n'),
    "an address with a password": Mistake(
        f'[providers.x]\nkind = "ollama"\nbase_url = "http://u:{PASSWORD}@[bad"\n'
    ),
    "no TOML": Mistake(f'[providers.x]\napi_key = "{LITERAL}\n'),
    "a key with a line break": Mistake(f'[providers.x]\napi_key = "{LITERAL}\\n"\n'),
    "all settings": Mistake(f'[providers.x]\napi_key = "{LITERAL}"\n', ("config", "show")),
    "all settings as JSON": Mistake(
        f'[providers.x]\napi_key = "{LITERAL}"\n', ("config", "show", "--json")
    ),
    "an unset variable": Mistake(f'[providers.x]\napi_key = "${{NO_SUCH}}{LITERAL}"\n'),
    "a broken host": Mistake(environ={"OLLAMA_HOST": f"http://u:{PASSWORD}@ho st"}),
    "a key on the command line": Mistake(arguments=("--api-key", LITERAL, "-p", "x")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_no_mistake_in_the_settings_shows_a_key(
    name: str, command: Command, tmp_path: Path
) -> None:
    home, mistake = make_home(tmp_path / "home"), MISTAKES[name]
    file = home / "config" / "ollm" / "config.toml"
    file.write_text(mistake.text)
    printed = command(home, *mistake.arguments, **mistake.environ)
    assert printed
    assert found_in(printed) == set()
    assert written(home, frozenset({file})) == {}


def crash(secret: str, home: Path, url: str, forks: Forks) -> tuple[bytes, int]:
    """Let the program fail with a secret in the words of the exception."""
    argv = [sys.executable, "-P", "-c", CRASH, secret, "--model", "literal://m"]
    env = environment(home) | VARIABLES | {"OPENAI_COMPATIBLE_HOST": url}
    with PtySession(argv, env, home, forks=forks) as session:
        session.wait_for("literal")
        session.wait_for("ready")
        session.write("hello")
        session.wait_for("hello")
        session.write("\r")
        status = session.exit_status()
        return session.raw, status


@pytest.mark.parametrize("secret", [*VARIABLES.values(), LITERAL, HEADER])
def test_a_crash_with_a_key_in_its_words_reports_the_crash_alone(
    secret: str, tmp_path: Path, forks: Forks
) -> None:
    home = make_home(tmp_path / "home")
    with in_thread(refuses) as server:
        given = settings(home, server.url)
        raw, status = crash(secret, home, server.url, forks)
    assert status == 1
    assert found_in(raw) == set()
    assert written(home, given) == {}
    [report] = home.rglob("crash-*.txt")
    assert "RuntimeError: failed with '«key»'" in report.read_text("utf-8")


def test_what_is_looked_for_would_be_found() -> None:
    assert found_in(f"x{LITERAL}y".encode()) == {LITERAL, "canary"}
    assert found_in(base64.b64encode(f"ab{HEADER}c".encode())) >= {HEADER}
    assert found_in(quote(VARIABLES["OPENAI_COMPATIBLE_API_KEY"], safe="").encode())
