"""A write that fails at any of its calls to the system leaves the old file or the new one."""

import errno
import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.tools.writing.acting import Desk

CALLS = (
    "open",
    "write",
    "fsync",
    "rename",
    "replace",
    "link",
    "unlink",
    "fchmod",
    "mkdir",
    "close",
)
OLD, NEW = "one\ntwo\nthree\n" * 400, "other\n" * 3000


class Faults:
    """Lets the calls up to one through; that one fails, and the later ones too after a crash."""

    def __init__(self, at: int, *, is_crash: bool) -> None:
        self.at, self.is_crash = at, is_crash
        self.made = 0

    def wrap(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.made += 1
            if self.made == self.at or (self.is_crash and self.made > self.at):
                if name == "close":  # a descriptor that is not closed would outlive the test
                    function(*args, **options)
                raise OSError(errno.ENOSPC, "No space left on device")
            return function(*args, **options)

        return call


@pytest.mark.parametrize("is_crash", [False, True], ids=["fault", "crash"])
@pytest.mark.parametrize("path", ["notes.md", "new/deep/a.txt"])
async def test_no_file_is_torn_at_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, is_crash: bool
) -> None:
    torn = done = 0
    for at in count(1):
        root = tmp_path / f"{at}"
        root.mkdir()
        (root / "notes.md").write_text(OLD)
        desk, faults = Desk(root), Faults(at, is_crash=is_crash)
        with monkeypatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, faults.wrap(getattr(os, name), name))
            result = await desk.call("write_file", path=path, content=NEW)
        now = (root / path).read_text() if (root / path).exists() else None
        old = OLD if path == "notes.md" else None
        torn += now not in (old, NEW)
        done += result.outcome == "done"
        if faults.made < at:
            break
    assert torn == 0
    assert done >= 1
    assert at > 10


@pytest.mark.parametrize(
    "writes",
    [pytest.param(2_000, marks=pytest.mark.slow), pytest.param(20_000, marks=pytest.mark.long)],
)
async def test_no_byte_is_written_outside_while_a_link_is_flipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    root, outside = tmp_path / "ws", tmp_path / "ws-evil"
    (root / "real").mkdir(parents=True)
    outside.mkdir()
    (outside / "a.txt").write_text("outside")
    (root / "flip").symlink_to("real")
    stop, flips = threading.Event(), [0]

    def flip() -> None:
        targets = (outside, Path("real"))
        while not stop.is_set():
            flips[0] += 1
            (root / "flip.new").symlink_to(targets[flips[0] % 2])
            (root / "flip.new").rename(root / "flip")

    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # it is about where, not how safely
    thread = threading.Thread(target=flip)
    thread.start()
    outcomes = {"done": 0, "failed": 0}
    try:
        desk = Desk(root)
        for number in range(writes):
            if number % 200 == 0:  # what a chat keeps is not what is measured
                desk = Desk(root)
            result = await desk.call("write_file", path="flip/a.txt", content=f"{number}\n")
            outcomes[result.outcome] += 1
    finally:
        stop.set()
        thread.join()
    assert (outside / "a.txt").read_text() == "outside"
    assert [path.name for path in outside.iterdir()] == ["a.txt"]
    assert min(outcomes.values()) > 0
    assert flips[0] > 100
