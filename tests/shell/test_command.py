"""Commands as they run: bounded, without keys, and never outlived by what they started."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.shell.command import CommandResult, CommandSettings, run_command
from ollm_tui.shell.environment import command_environment, shell_of
from tests.support.pty_session import wait_until

TAG = "OLLM_TEST_TAG"
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a child sub-reaper")


class Place:
    """A folder in which commands run, and the processes that they started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = uuid.uuid4().hex

    def settings(self, timeout_s: float = 30.0, **environ: str) -> CommandSettings:
        whole = {"PATH": os.environ["PATH"], TAG: self.tag, **environ}
        temporary = str(self.folder / "temporary")
        return CommandSettings(self.folder, timeout_s, (TAG,), whole, temporary=temporary)

    def left(self) -> list[str]:
        tagged = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.tag.encode() in (entry / "environ").read_bytes():
                    tagged.append((entry / "cmdline").read_text())
            except OSError:
                continue
        return tagged

    async def run(
        self, command: str, timeout_s: float = 30.0, stop_after: str = "", **environ: str
    ) -> CommandResult:
        """Run a command, and stop it once it has printed something."""
        stop = AbortSignal()

        def show(output: str) -> None:
            if stop_after and stop_after in output:
                stop.abort()

        settings = self.settings(timeout_s, **environ)
        with anyio.fail_after(20):
            return await run_command(command, settings, stop, show)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_the_output_of_both_streams_comes_in_order_and_there_is_no_input(
    place: Place,
) -> None:
    result = await place.run("pwd; echo one; echo two >&2; cat; exit 3")
    assert result.output == f"{place.folder}\none\ntwo\n"
    assert (result.end, result.code, result.others) == ("exited", 3, 0)
    assert result.words == "Exit code 3."
    assert (await place.run("true")).words == ""
    killed = await place.run("kill -9 $$")
    assert killed.words == "It was ended by signal 9."


async def test_no_key_of_the_environment_reaches_a_command(place: Place) -> None:
    secrets = {f"{name}": f"planted-{name}" for name in ("OPENAI_API_KEY", "HF_TOKEN", "DB_URL")}
    settings = CommandSettings(
        place.folder,
        30,
        ("HF_TOKEN", "JAVA_HOME"),
        {"PATH": os.environ["PATH"], "LC_ALL": "C", "JAVA_HOME": "/java", **secrets},
    )
    result = await run_command(
        "env; cat /proc/$PPID/environ | tr '\\0' '\\n'", settings, AbortSignal()
    )
    assert "planted" not in result.output
    assert "JAVA_HOME=/java" in result.output
    assert "LC_ALL=C" in result.output
    assert "TERM=dumb" in result.output


PLANTED = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "DB_URL"),
    *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "GOOGLE_API_KEY"),
    *("AZURE_CLIENT_SECRET", "NPM_TOKEN", "PYPI_TOKEN", "DOCKER_PASSWORD", "PGPASSWORD"),
    *("MYSQL_PWD", "REDIS_URL", "SSH_AUTH_SOCK", "SSH_ASKPASS", "GPG_AGENT_INFO", "SLACK_TOKEN"),
    *("STRIPE_KEY", "SENTRY_DSN", "JWT_SECRET", "VAULT_TOKEN", "KUBECONFIG", "NETRC", "OLLM_KEY"),
    *("http_proxy", "HTTPS_PROXY", "LD_PRELOAD", "BASH_ENV", "ENV", "PROMPT_COMMAND"),
)


async def test_none_of_many_secrets_of_the_environment_reaches_a_command(place: Place) -> None:
    assert len(PLANTED) >= 30
    environ = {"PATH": os.environ["PATH"], **{name: f"planted-{name}" for name in PLANTED}}
    further = ("HF_TOKEN", "DB_PASSWORD", "JWT_SECRET")  # named, but they sound like keys
    settings = CommandSettings(place.folder, 30, further, environ)
    look = "env; set; cat /proc/$PPID/environ /proc/self/environ | tr '\\0' '\\n'"
    result = await run_command(look, settings, AbortSignal())
    assert "PATH=" in result.output
    assert "planted" not in result.output


def test_the_shell_is_the_persons_own_if_it_can_be_run(tmp_path: Path) -> None:
    assert shell_of({"SHELL": "/bin/sh"}) == Path("/bin/sh")
    for wrong in ("", "bash", "/no/shell", str(tmp_path)):
        assert shell_of({"SHELL": wrong}) == Path("/bin/sh")
    assert "SSH_AUTH_SOCK" not in command_environment({"SSH_AUTH_SOCK": "x"})
    assert "LC_API_KEY" not in command_environment({"LC_API_KEY": "x"})


@linux
@pytest.mark.parametrize(
    "command",
    [
        "echo go; sleep 300",
        "trap '' TERM HUP; echo go; while :; do sleep 300; done",
        "(setsid sh -c 'trap \"\" TERM; echo go; sleep 300; sleep 300' &); sleep 300",
        "for i in 1 2 3 4 5 6 7 8; do (setsid sleep 300 &) ; done; yes go",
    ],
)
async def test_a_stop_ends_everything_that_was_started(place: Place, command: str) -> None:
    result = await place.run(command, stop_after="go")
    assert result.end == "stopped"
    assert result.seconds < 10
    assert result.words.startswith("Stopped")
    assert place.left() == []


@linux
async def test_what_a_command_leaves_running_is_ended_and_named(place: Place) -> None:
    result = await place.run("sleep 300 & setsid sleep 300 & sleep 0.1; echo done")
    assert result.output == "done\n"
    assert result.words == "Exit code 0. 2 further processes that it left running were ended."
    assert place.left() == []


async def test_the_time_limit_holds_and_a_flood_is_bounded(place: Place) -> None:
    result = await place.run("yes", timeout_s=0.5)
    assert result.end == "timeout"
    assert result.words.startswith("Stopped after 0.5 s")
    assert len(result.output) < 40_000
    assert "left out" in result.output


async def test_what_cannot_be_run_is_refused_in_a_sentence(place: Place) -> None:
    for command, sentence in (("a\0b", "NUL"), ("a" * 200_000, "too long")):
        with pytest.raises(AIError, match=sentence):
            await place.run(command)
    place.folder = place.folder / "gone"
    with pytest.raises(AIError, match="cannot be run: it does not exist"):
        await place.run("true")


PROGRAM = """
import sys, anyio
from pathlib import Path
from tests.shell.test_command import Place
place = Place(Path(sys.argv[1])); place.tag = sys.argv[2]
anyio.run(place.run, "(setsid sleep 300 &); touch began; sleep 300")
"""


@linux
def test_a_command_does_not_outlive_the_program_that_was_killed(place: Place) -> None:
    arguments = [sys.executable, "-c", PROGRAM, str(place.folder), place.tag]
    temporary = place.folder / "temporary"
    temporary.mkdir()
    (temporary / "part").touch()
    with subprocess.Popen(arguments) as program:
        assert wait_until((place.folder / "began").exists)
        assert len(place.left()) >= 3
        program.send_signal(signal.SIGKILL)
    assert wait_until(lambda: place.left() == [] and not temporary.exists(), timeout=10)
