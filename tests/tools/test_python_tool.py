"""The tool `run_python`: shown whole, contained as commands are, streamed, bounded and ended."""

import errno
import os
import sys
from pathlib import Path

import anyio
import pytest

from ollm_tui.frontend.tool_text import main_argument
from ollm_tui.protocol.tools import ToolResult
from ollm_tui.shell.command import CommandSettings
from ollm_tui.shell.containment import find_containment
from ollm_tui.tools.python_tool import PythonTool
from tests.shell.test_command import TAG, Place
from tests.tools.web_site import Caller
from tests.tools.writing.acting import Person

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands need a POSIX system")


class Bench:
    def __init__(self, folder: Path, person: Person | None = None, timeout_s: float = 20.0) -> None:
        self.place, self.person = Place(folder), person or Person()
        environ = {"PATH": os.environ["PATH"], TAG: self.place.tag, "OPENAI_API_KEY": "planted"}
        settings = CommandSettings(folder, timeout_s, (TAG,), environ)
        self.caller = Caller(self.person, PythonTool(settings, network=False))

    async def run(self, code: str) -> ToolResult:
        return await self.caller.call("run_python", code=code)


async def test_the_whole_code_is_shown_then_it_runs_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("1\n2\n3\n")
    (tmp_path / "statistics.py").write_text("raise SystemExit('not this one')")
    bench = Bench(tmp_path)
    code = "import os, statistics\nprint(sum(map(int, open('data.txt'))))\nprint(dict(os.environ))"
    result = await bench.run(code)
    (preview,) = bench.person.previews
    assert preview.parts == (
        ("code", code),
        ("in the folder", str(tmp_path)),
        ("with", sys.executable),
    )
    assert "ontained: it" in preview.summary
    assert (preview.language, preview.is_command, preview.argv) == ("python", True, None)
    assert result.outcome == "done"
    assert result.content.startswith("6\n{")
    assert "planted" not in result.content
    assert (result.display or "").endswith(f"\n\nThe code:\n{code}")
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("code")] == []


async def test_refused_code_does_not_run(tmp_path: Path) -> None:
    result = await Bench(tmp_path, Person(allows=False)).run("open('made', 'w')")
    assert result.outcome == "denied"
    assert not (tmp_path / "made").exists()


async def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(**_given: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.mkdtemp", no_space)
    result = await Bench(tmp_path).run("print(1)")
    assert result.is_error
    assert result.content.startswith("Not run: the code cannot be put into a temporary file: ")


async def test_a_fault_is_a_traceback_without_the_temporary_folder(tmp_path: Path) -> None:
    result = await Bench(tmp_path).run("def half(n):\n    return n / 0\nhalf(1)")
    assert result.outcome == "failed"
    assert 'File "code.py", line 2, in half' in result.content
    assert "ZeroDivisionError" in result.content
    assert result.content.endswith("Exit code 1.")


async def test_the_time_limit_ends_it_with_all_that_it_started(tmp_path: Path) -> None:
    bench = Bench(tmp_path, timeout_s=1.0)
    code = (
        "import subprocess, time\nsubprocess.Popen(['sleep', '60'])\nprint('begun', flush=True)\n"
    )
    result = await bench.run(f"{code}time.sleep(60)")
    assert result.outcome == "failed"
    assert result.content.startswith("begun\nStopped after 1 s")
    assert bench.place.left() == []


async def test_long_output_is_cut_and_a_silent_program_is_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    result = await bench.run(
        "print('x' * 99 + '\\n', end='', flush=True)\n" * 3 + "print('y' * 10**6)"
    )
    assert len(result.content) < 64_000
    assert (await bench.run("value = 1")).content == "It printed nothing."
    assert (await bench.run("  ")).outcome == "failed"
    assert (await bench.run("#" * 100_001)).outcome == "failed"


async def test_it_stays_behind_the_walls_of_commands(tmp_path: Path) -> None:
    if (await anyio.to_thread.run_sync(probe, tmp_path)) == "none":
        pytest.skip("this system has no sandbox")
    folder, outside = tmp_path / "work", tmp_path / "outside"
    folder.mkdir()
    result = await Bench(folder).run(f"open({str(outside)!r}, 'w')")
    assert result.outcome == "failed"
    assert not outside.exists()
    result = await Bench(folder).run("open('inside', 'w').write('here')")
    assert (folder / "inside").read_text() == "here"


def probe(folder: Path) -> str:
    return find_containment(folder, network=False).sandbox


def test_one_line_of_a_call_shows_its_first_line() -> None:
    assert main_argument({"code": "\ntotal = 0\nprint(total)\n"}) == "total = 0 …"
    assert main_argument({"code": "print(1)"}) == "print(1)"
