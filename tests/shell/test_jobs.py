"""Commands in the background: read, bounded, stopped, and never outliving this program."""

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.shell.jobs import MAX_JOBS, MAX_KEPT, BackgroundJobs, Job
from tests.shell.test_command import TAG, Place, linux
from tests.support.pty_session import wait_until


class Desk:
    def __init__(self, folder: Path) -> None:
        self.place, self.jobs = Place(folder), BackgroundJobs()

    def start(self, command: str, timeout_s: float = 30.0) -> tuple[Job, threading.Event]:
        ended = threading.Event()
        settings = self.place.settings(timeout_s, SHELL="/bin/sh")
        return self.jobs.start(command, settings, ended.set), ended


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.jobs.stop_all()
    wait_until(lambda: not desk.place.left(), 10)


def test_output_is_read_once_and_the_end_is_known(desk: Desk) -> None:
    job, ended = desk.start("echo one; read -r _ < gate; echo two; exit 3")
    (desk.place.folder / "nothing").touch()
    wait_until(lambda: ended.is_set(), 10)  # there is no gate
    assert (job.number, job.is_running, job.words) == (1, False, "Exit code 3.")
    assert job.read().startswith("one\n")
    assert job.read() == ""
    assert job.output.startswith("one\n")
    assert job.output.endswith("two\n")


@linux
def test_a_stop_ends_all_that_it_started(desk: Desk) -> None:
    job, ended = desk.start(
        "(setsid sleep 300 &); trap '' TERM; echo go; while :; do sleep 9; done"
    )
    wait_until(lambda: "go" in job.output, 10)
    assert desk.jobs.running == 1
    assert desk.jobs.stop(job.number)
    assert ended.wait(10)
    assert job.words.startswith("Stopped, with ")
    assert desk.place.left() == []
    assert not desk.jobs.stop(job.number)
    assert not desk.jobs.stop(99)


def test_the_time_limit_and_a_flood_are_bounded(desk: Desk) -> None:
    job, ended = desk.start("yes", timeout_s=0.5)
    assert ended.wait(10)
    assert job.words.startswith("Stopped after 0.5 s")
    assert len(job.output) < 40_000
    assert "left out" in job.output


def test_their_number_is_bounded(desk: Desk) -> None:
    started = [desk.start("sleep 60") for _ in range(MAX_JOBS)]
    with pytest.raises(AIError, match="which is the limit"):
        desk.start("sleep 60")
    assert desk.jobs.stop_all() == MAX_JOBS
    for _job, ended in started:
        assert ended.wait(10)
    assert desk.jobs.running == 0
    for _number in range(MAX_KEPT):
        assert desk.start("true")[1].wait(10)
    assert len(desk.jobs.listed) <= MAX_KEPT + 1
    assert desk.jobs.get(1) is None


def test_what_cannot_be_started_leaves_nothing(desk: Desk) -> None:
    with pytest.raises(AIError, match="NUL"):
        desk.start("a\0b")
    settings = replace(desk.place.settings(), folder=desk.place.folder / "gone")
    with pytest.raises(AIError, match="cannot be run"):
        desk.jobs.start("true", settings)
    assert desk.jobs.listed == ()


_PROGRAM = """
import os, sys, time
from pathlib import Path
from ollm_tui.shell.command import CommandSettings
from ollm_tui.shell.jobs import BackgroundJobs
jobs = BackgroundJobs()
place = CommandSettings(Path.cwd(), 60.0, ("OLLM_TEST_TAG",), {**os.environ, "SHELL": "/bin/sh"})
job = jobs.start("(setsid sleep 300 &); echo go; sleep 300", place)
while "go" not in job.output:
    time.sleep(0.02)
print("running", flush=True)
{end}
"""


@linux
@pytest.mark.parametrize(
    "end",
    ["time.sleep(60)", "sys.exit(0)", "os._exit(1)", "os.abort()", "raise RuntimeError('crash')"],
)
def test_nothing_outlives_this_program_however_it_ends(tmp_path: Path, end: str) -> None:
    place = Place(tmp_path)
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_PROGRAM.replace("{end}", end))],
        env={**os.environ, TAG: place.tag, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert program.stdout is not None
    with program.stdout:
        assert program.stdout.readline() == b"running\n"
    if "sleep(60)" in end:
        program.kill()
    program.wait(10)
    wait_until(lambda: not place.left(), 5)
