"""Standard streams that are closed, full or gone: one sentence, a right exit code, no traceback."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import OLLM, environment
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import in_thread
from tests.support.seeds import sampled

WRITERS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("--model", "local://tiny", "-p", "hi"),
    "version": ("--version",),
    "help": ("--help",),
    "embeddings": ("embed", "--model", "local://vectors", "text"),
    "prompt as JSON": ("--model", "local://tiny", "--json", "-p", "hi"),
    "list": ("models", "list"),
    "settings": ("config", "show"),
    "doctor": ("doctor",),
}
PRINTING: Mapping[str, tuple[str, ...]] = {
    "wrong command": ("nonsense",),
    "chat without a terminal": (),
    "empty prompt": ("-p", "-"),
}
CLOSED = "ollm: Standard output is closed. Send it to a terminal, a file or a pipe.\n"
FULL = "ollm: The output could not be written ({}). Some of it may be missing.\n"
NO_SPACE, TOO_LARGE = "No space left on device", "File too large"


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    """Starts the program as a shell does, with redirections of real file descriptors."""

    home: Path
    server: str

    def run(self, arguments: tuple[str, ...], redirected: str, before: str = ":") -> Ended:
        """Run it; the exit code goes through a descriptor of its own, also in a pipe."""
        code = self.home / "code"
        script = f'exec 3>"$0"; {before}; {{ "$@" 3>&-; echo $? >&3; }} {redirected}'
        if before != ":":
            script = f'( {before}; "$@" {redirected} ); echo $? >"$0"'
        done = subprocess.run(
            ["/bin/bash", "-c", script, str(code), *OLLM, *arguments],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONDONTWRITEBYTECODE": "1",
                "OLLAMA_HOST": self.server,
                **environment(self.home),
            },
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ended(int(code.read_text()), done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    home = tmp_path_factory.mktemp("home")
    (home / "config" / "ollm").mkdir(parents=True)
    (home / "data" / "ollm" / "models").mkdir(parents=True)
    fake = OllamaServer()
    fake.models["vectors:latest"] = ["embedding"]
    with in_thread(fake) as server:
        yield Shell(home, server.url)


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(WRITERS, 1))
def test_what_writes_says_that_its_output_is_closed_or_full(name: str, shell: Shell) -> None:
    ways = {
        ">&-": CLOSED,
        "1</dev/null": CLOSED,
        ">/dev/full": FULL.format(NO_SPACE),
        ">&- 2>&- <&-": "",
        ">/dev/full 2>/dev/full": "",
    }
    for redirected, sentence in ways.items():
        assert shell.run(WRITERS[name], redirected) == Ended(1, "", sentence), redirected


@pytest.mark.parametrize("name", sampled(sorted(WRITERS, reverse=True), 1))
def test_a_limit_of_file_sizes_is_reported(name: str, shell: Shell) -> None:
    for redirected, sentence in {">out": FULL.format(TOO_LARGE), ">out 2>err": ""}.items():
        ended = shell.run(WRITERS[name], redirected, "ulimit -f 0")
        assert ended == Ended(1, "", sentence), redirected


@pytest.mark.parametrize("name", sampled(sorted(WRITERS, reverse=True), 1))
def test_what_writes_needs_neither_input_nor_error_output(name: str, shell: Shell) -> None:
    for redirected in ("2>/dev/full", "<&- 2>&-"):
        ended = shell.run(WRITERS[name], redirected)
        assert (ended.code, ended.err) == (0, ""), redirected
        assert ended.out


@pytest.mark.parametrize("name", sampled(WRITERS, 1))
def test_a_reader_that_has_gone_ends_it_quietly(name: str, shell: Shell) -> None:
    ended = shell.run(WRITERS[name], "| true")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("name", sampled(PRINTING, 1))
def test_a_mistake_keeps_its_exit_code_whatever_is_closed(name: str, shell: Shell) -> None:
    for redirected in ("", ">&-", "<&-", "<&- >&-", ">/dev/full"):
        ended = shell.run(PRINTING[name], redirected)
        assert ended.code == 2, redirected
        assert ended.err.startswith("ollm: ")
        assert ended.err.count("\n") == 1
    for redirected in ("2>&-", "2>/dev/full", ">&- 2>&- <&-"):
        assert shell.run(PRINTING[name], redirected) == Ended(2, "", ""), redirected


def test_no_file_of_the_program_gets_the_number_of_a_closed_stream(shell: Shell) -> None:
    code = (
        "import os, sys\n"
        "from ollm_tui.cli.output import open_missing_streams\n"
        "open_missing_streams()\n"
        "opened = os.open('file', os.O_CREAT | os.O_WRONLY)\n"
        "print('lost', file=sys.stderr, flush=True)\n"
        "sys.exit(opened if os.fstat(opened).st_size == 0 else 99)\n"
    )
    script = f'"$1" -B -c "{code}" <&- >&- 2>&-'
    argv = ["/bin/bash", "-c", script, "sh", OLLM[0]]
    done = subprocess.run(argv, env=environment(shell.home), cwd=shell.home, check=False)
    assert 2 < done.returncode < 99


def test_a_log_that_cannot_be_written_ends_nothing(shell: Shell) -> None:
    code = (
        "import logging\n"
        "from pathlib import Path\n"
        "from ollm_tui.cli.log import logging_to\n"
        "with logging_to(Path('ollm.log')):\n"
        "    logging.getLogger('ollm_tui').warning('a record')\n"
    )
    argv = ["/bin/bash", "-c", f'ulimit -f 0; "$1" -B -c "{code}"', "sh", OLLM[0]]
    done = subprocess.run(
        argv, env=environment(shell.home), cwd=shell.home, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
