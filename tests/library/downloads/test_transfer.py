"""A file comes whole or not at all, whatever the server does on the way (row G4)."""

from pathlib import Path

from tests.library.downloads.rig import bench
from tests.support import file_host
from tests.support.file_host import FileHost, Lie, content

SIZE = 300_000
DATA = content(SIZE)


def cut_after(count: int) -> Lie:
    def lie(host: FileHost, sending: file_host.Sending, chance: object) -> None:
        sending.cut_at = min(count, len(sending.body))

    return lie


async def test_a_file_comes_and_nothing_else_stays(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        assert await b.fetch() == b.target
        assert b.target.read_bytes() == DATA
        assert b.left() == {"m.gguf"}
        assert b.target.stat().st_mode & 0o777 == 0o600
        assert b.target.parent.stat().st_mode & 0o777 == 0o700
    assert (b.steps[-1].completed, b.steps[-1].total) == (SIZE, SIZE)
    assert b.host.ranges == [None]


async def test_a_broken_connection_is_gone_on_with_where_it_broke(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA, lies=[cut_after(123_000), cut_after(50_000)])) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None, "bytes=123000-", "bytes=173000-"]
    assert [headers.get("if-range") for headers in b.host.asked] == [None, '"one"', '"one"']
    assert b.host.sent == SIZE
    assert "resumed at 41 %" in b.notes
    assert b.waits == [1, 1]
