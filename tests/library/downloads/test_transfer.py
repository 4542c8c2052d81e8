"""A file comes whole or not at all, whatever the server does on the way (row G4)."""

import random
from pathlib import Path

import pytest

from ollm_tui.library.downloads.downloader import Progress
from ollm_tui.library.downloads.part_file import resumable_bytes
from ollm_tui.library.downloads.transfer import discard
from ollm_tui.library.downloads.transfer_run import MAX_VAIN_TRIES
from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.library.downloads import file_host
from tests.library.downloads.file_host import FileHost, Lie, SendBuilder, content
from tests.library.downloads.rig import IMPATIENT, Bench, bench
from tests.support.http_server import Received, Reply, serve

SIZE = 300_000
DATA = content(SIZE)
CHANGED = "changed on the server, starting over"
NO_RANGES = "the server cannot resume, starting over"


def cut_after(count: int, **headers: str) -> Lie:
    def lie(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.cut_at = min(count, len(sending.body))
        sending.headers |= headers

    return lie


def says(**headers: str) -> Lie:
    def lie(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.headers |= {name.replace("_", "-"): value for name, value in headers.items()}

    return lie


async def interrupted(b: Bench, count: int = 123_000) -> None:
    """Leave a part of the file behind, as an earlier run would."""
    b.host.lies[:0] = [cut_after(count), file_host.forbidden]
    error = await b.trouble()
    assert error.code == ErrorCode.PERMISSION_DENIED
    assert resumable_bytes(b.target) == count
    b.host.asked.clear()
    b.steps.clear()
    b.host.sent = 0


async def test_a_file_comes_and_nothing_else_stays(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        assert await b.fetch() == b.target
        assert b.target.read_bytes() == DATA
        assert b.left() == {"m.gguf"}
        assert b.target.stat().st_mode & 0o777 == 0o600
        assert b.target.parent.stat().st_mode & 0o777 == 0o700
    assert (b.steps[-1].completed, b.steps[-1].total) == (SIZE, SIZE)
    assert b.notes == ["", "verifying the checksum"]
    assert b.host.ranges == [None]


async def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(b"")) as b:
        assert (await b.fetch()).read_bytes() == b""
        assert b.left() == {"m.gguf"}


async def test_a_broken_connection_is_gone_on_with_where_it_broke(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA, lies=[cut_after(123_000), cut_after(50_000)])) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None, "bytes=123000-", "bytes=173000-"]
    assert [headers.get("if-range") for headers in b.host.asked] == [None, '"one"', '"one"']
    assert b.host.sent == SIZE
    assert "the connection broke, trying again in 1 s" in b.notes
    assert "resumed at 41 %" in b.notes
    assert b.waits == [1, 1]
    waits = [step for step in b.steps if "trying again" in step.note]
    assert {step.note for step in waits} == {"the connection broke, trying again in 1 s"}
    assert all(step.is_jump for step in waits)
    begun = [step for step in b.steps if step.is_jump and step not in waits]
    assert [step.completed for step in begun] == [0, 123_000, 173_000], "where a response begins"
    verifying = b.steps[-1]
    assert (verifying.note, verifying.completed) == ("verifying the checksum", SIZE)
    assert not verifying.is_jump, "all of it was hashed as it came"


async def test_a_later_run_goes_on_with_what_is_there(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        await interrupted(b)
        assert b.left() == {"m.gguf.part", "m.gguf.part.json"}
        await b.fetch()
        assert b.target.read_bytes() == DATA
        assert b.left() == {"m.gguf"}
    assert b.notes == ["resumed at 41 %", "verifying the checksum"]
    assert b.steps[-1].is_jump, "what an earlier run left is read again"
    assert b.host.ranges == ["bytes=123000-"]
    assert b.host.sent == SIZE - 123_000


async def test_bytes_behind_what_was_recorded_are_thrown_away(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        await interrupted(b)
        with b.target.with_name("m.gguf.part").open("ab") as file:
            file.write(b"what was not forced to the disk")
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == ["bytes=123000-"]


@pytest.mark.parametrize("state", ["", "{}", "[" * 5000, '{"version": 1, "url": 1, "done": 5}'])
async def test_a_state_that_cannot_be_read_counts_for_nothing(tmp_path: Path, state: str) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        await interrupted(b)
        b.target.with_name("m.gguf.part.json").write_text(state)
        assert resumable_bytes(b.target) == 0
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None]


async def test_a_state_that_claims_more_than_there_is_counts_for_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        await interrupted(b)
        with b.target.with_name("m.gguf.part").open("r+b") as file:
            file.truncate(122_999)
        assert resumable_bytes(b.target) == 0
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None]


async def test_what_came_of_another_address_is_not_used(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        await interrupted(b)
        await b.fetch(b.source(url=f"{b.server.url}/other.gguf"))
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None]
    assert b.notes[0] == CHANGED


async def test_a_file_that_changed_is_begun_anew(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        source = b.source(sha256=None)
        b.host.lies = [cut_after(123_000), file_host.forbidden]
        await b.trouble(source)
        other = content(SIZE, 2)
        b.host.become(other, '"two"')
        b.steps.clear()
        await b.fetch(source)
        assert b.target.read_bytes() == other
    assert b.notes == [CHANGED]


@pytest.mark.parametrize("etag", ['W/"one"', None, "one", '"' + "x" * 300 + '"', '"a b"'])
async def test_without_a_strong_etag_nothing_is_put_together(
    tmp_path: Path, etag: str | None
) -> None:
    async with bench(tmp_path, FileHost(DATA, etag, lies=[cut_after(123_000)])) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None, None]
    assert NO_RANGES in b.notes


async def test_a_server_that_ignores_the_range_is_read_from_the_beginning(tmp_path: Path) -> None:
    host = FileHost(DATA, lies=[cut_after(123_000), file_host.ignores_range])
    async with bench(tmp_path, host) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert NO_RANGES in b.notes


async def test_a_range_that_cannot_be_satisfied_is_asked_for_from_the_beginning(
    tmp_path: Path,
) -> None:
    host = FileHost(DATA, lies=[cut_after(123_000), file_host.not_satisfiable])
    async with bench(tmp_path, host) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None, "bytes=123000-", None]


@pytest.mark.parametrize(
    "named",
    [
        f"bytes 122999-{SIZE - 1}/{SIZE}",
        f"bytes 123000-{SIZE - 1}/{SIZE + 1}",
        f"bytes 123000-{SIZE - 2}/{SIZE}",
        f"bytes 123000-{SIZE}/{SIZE}",
        f"bytes 123000-122999/{SIZE}",
        f"bytes ١٢٣٠٠٠-{SIZE - 1}/{SIZE}",
        f"bytes 123000-{SIZE - 1}/{SIZE}, bytes 123000-{SIZE - 1}/{SIZE}",
        "bytes 123000-",
        "",
    ],
)
async def test_a_wrong_content_range_is_not_believed(tmp_path: Path, named: str) -> None:
    shifted = says(content_range=named.encode().decode("latin-1"))
    async with bench(tmp_path, FileHost(DATA, lies=[cut_after(123_000), shifted])) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None, "bytes=123000-", None]


async def test_a_rest_under_another_etag_is_not_used(tmp_path: Path) -> None:
    host = FileHost(DATA, lies=[cut_after(123_000), says(etag='"two"')])
    async with bench(tmp_path, host) as b:
        await b.fetch()
    assert b.host.ranges == [None, "bytes=123000-", None]


async def test_a_part_of_the_rest_is_gone_on_with(tmp_path: Path) -> None:
    def less(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.headers["content-range"] = f"bytes 123000-199999/{SIZE}"
        sending.body = DATA[123_000:200_000]

    async with bench(tmp_path, FileHost(DATA, lies=[cut_after(123_000), less])) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None, "bytes=123000-", "bytes=200000-"]


async def test_a_rest_of_a_file_of_unknown_length_is_not_taken_for_all_of_it(
    tmp_path: Path,
) -> None:
    def in_pieces(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.chunked, sending.cut_at = True, 123_000

    def less(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.headers["content-range"] = "bytes 123000-199999/*"
        sending.body = DATA[123_000:200_000]

    async with bench(tmp_path, FileHost(DATA, lies=[in_pieces, less])) as b:
        await b.fetch(b.source(sha256=None))
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None, "bytes=123000-", None]


async def test_more_bytes_than_promised_are_not_kept(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA, lies=[file_host.too_long])) as b:
        error = await b.trouble(b.source(size=SIZE))
        assert "longer than promised" in error.message
        assert b.left() == set()


async def test_a_size_that_is_not_the_listed_one_is_refused_before_anything_comes(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        error = await b.trouble(b.source(size=SIZE + 1))
        assert "a different size: 300,000 bytes and 300,001 bytes" in error.message
        assert b.left() == set()


async def test_a_wrong_sum_is_never_put_in_place(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        error = await b.trouble(b.source(sha256="ab" * 32))
        assert "a different checksum" in error.message
        assert b.left() == set()


async def test_a_wrong_sum_of_parts_is_tried_once_more_in_one_piece(tmp_path: Path) -> None:
    host = FileHost(DATA, lies=[cut_after(123_000), file_host.other_bytes])
    async with bench(tmp_path, host) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert "its checksum was wrong, starting over" in b.notes
    assert b.host.ranges == [None, "bytes=123000-", None]


async def test_parts_with_a_wrong_sum_have_an_end(tmp_path: Path) -> None:
    lies = [cut_after(1000), file_host.other_bytes] * 10
    async with bench(tmp_path, FileHost(DATA, lies=lies)) as b:
        error = await b.trouble()
        assert "a different checksum" in error.message
        assert b.left() == set()
        assert b.host.lies


async def test_a_body_of_unknown_length_needs_an_end_that_can_be_seen(tmp_path: Path) -> None:
    def until_close(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.headers["content-length"] = ""
        sending.cut_at = 1000

    async with bench(tmp_path, FileHost(DATA, lies=[until_close])) as b:
        error = await b.trouble(b.source(sha256=None))
        assert "does not say how long it is" in error.message
        assert b.left() == set()
        b.host.lies = [lambda _host, sending, _chance: setattr(sending, "chunked", True)]
        await b.fetch(b.source(sha256=None))
        assert b.target.read_bytes() == DATA


@pytest.mark.parametrize("lie", [file_host.packed, file_host.web_page])
async def test_what_is_no_file_is_refused(tmp_path: Path, lie: Lie) -> None:
    async with bench(tmp_path, FileHost(DATA, lies=[lie])) as b:
        error = await b.trouble(b.source(sha256=None))
        assert "cannot be downloaded from 127.0.0.1" in error.message
        assert b.left() == set()


async def test_a_server_that_brings_nothing_more_is_given_up(tmp_path: Path) -> None:
    lies: list[Lie] = [cut_after(123_000)] + [file_host.cut_before_head] * 20
    async with bench(tmp_path, FileHost(DATA, lies=lies)) as b:
        error = await b.trouble()
        assert error.retryable
        assert resumable_bytes(b.target) == 123_000
    assert len(b.host.asked) == MAX_VAIN_TRIES
    assert b.waits == [1, 2, 4, 8]


async def test_a_server_that_drips_is_progress_only_by_the_percent(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA, lies=[cut_after(10)] * 100)) as b:
        await b.trouble()
        assert resumable_bytes(b.target) == 10 * MAX_VAIN_TRIES
        b.host.lies = [cut_after(SIZE // 50)] * 49
        await b.fetch()
        assert b.target.read_bytes() == DATA


async def test_a_busy_server_says_when_to_come_back(tmp_path: Path) -> None:
    def busy(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.status, sending.body = 503, b"later"
        sending.headers["retry-after"] = "17"

    async with bench(tmp_path, FileHost(DATA, lies=[busy])) as b:
        await b.fetch()
    assert b.waits == [17]
    assert "the server is busy, trying again in 17 s" in b.notes


async def test_a_server_that_stands_still_is_asked_again(tmp_path: Path) -> None:
    def stands(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
        sending.stalls_at = 131_072

    async with bench(tmp_path, FileHost(DATA, lies=[stands]), IMPATIENT) as b:
        await b.fetch()
        assert b.target.read_bytes() == DATA
    assert b.host.ranges == [None, "bytes=131072-"]


async def test_a_file_that_is_there_already_is_not_fetched(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        await b.fetch()
        b.steps.clear()
        await b.fetch()
        assert len(b.host.asked) == 1
        assert b.notes == ["verifying the checksum", ""]
        assert all(step.is_jump for step in b.steps), "nothing of it counts as speed"
        error = await b.trouble(b.source(sha256=None))
        assert error.code == ErrorCode.CONFLICT
        b.target.write_bytes(b"something of one's own")
        error = await b.trouble()
        assert error.code == ErrorCode.CONFLICT
        assert b.target.read_bytes() == b"something of one's own"
        assert b.left() == {"m.gguf"}


async def test_a_run_that_ended_between_name_and_state_is_done(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        source = b.source(sha256=None)
        b.host.lies = [cut_after(SIZE - 1), file_host.forbidden]
        await b.trouble(source)
        state = b.target.with_name("m.gguf.part.json")
        text = state.read_text().replace(f'"done": {SIZE - 1}', f'"done": {SIZE}')
        await b.fetch(source)
        state.write_text(text)
        b.host.asked.clear()
        await b.fetch(source)
        assert b.host.asked == []
        assert b.left() == {"m.gguf"}


@pytest.mark.parametrize("is_sum_known", [True, False])
async def test_of_a_file_that_is_all_there_at_most_the_end_is_asked_for(
    tmp_path: Path, is_sum_known: bool
) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        source = b.source() if is_sum_known else b.source(sha256=None)
        b.host.lies = [cut_after(SIZE - 1), file_host.forbidden]
        await b.trouble(source)
        part, state = (b.target.with_name(f"m.gguf{end}") for end in (".part", ".part.json"))
        part.write_bytes(DATA)
        state.write_text(state.read_text().replace(f'"done": {SIZE - 1}', f'"done": {SIZE}'))
        assert resumable_bytes(b.target) == SIZE
        b.host.asked.clear()
        await b.fetch(source)
        assert b.host.ranges == ([] if is_sum_known else [f"bytes={SIZE - 1}-"])
        assert b.target.read_bytes() == DATA


async def test_discarding_leaves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        await discard(b.target)
        await interrupted(b)
        await discard(b.target)
        assert b.left() == set()
        assert resumable_bytes(b.target) == 0


async def test_a_sum_may_be_written_in_several_ways_and_nothing_else_is_one(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        error = await b.trouble(b.source(sha256="\u202eabc"))
        assert error.message == "⟦U+202E⟧abc is not a SHA-256 checksum."
        await b.fetch(b.source(sha256=f"sha256:{b.host.sum.upper()}"))


def redirecting(to: str, **headers: str) -> FileHost:
    """Make a hub: it sends everybody on, with words of its own about the file."""

    class Hub(FileHost):
        async def __call__(self, request: Received, reply: Reply) -> None:
            self.asked.append(request.headers)
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            await reply.whole(b"", 302, headers={"location": f"{to}/cdn", **named})

    return Hub(DATA)


@pytest.mark.parametrize("where", ["second", "first", "both"])
async def test_a_hub_may_send_on_to_another_host(tmp_path: Path, where: str) -> None:
    cdn = FileHost(DATA, '"cdn"' if where != "first" else None, lies=[cut_after(123_000)])
    hub_headers = {"x_linked_etag": f'"{cdn.sum}"', "x_linked_size": str(SIZE)}
    if where != "second":
        hub_headers["etag"] = '"hub"'
    async with serve(cdn) as second, bench(tmp_path, redirecting(second.url, **hub_headers)) as b:
        await b.fetch(b.source(sha256=None, token="planted-token-1"))
        assert b.target.read_bytes() == DATA
        assert all(h["authorization"] == "Bearer planted-token-1" for h in b.host.asked)
    assert "planted-token-1" not in repr(cdn.asked)
    resumed = "bytes=123000-" if where != "first" else None
    assert cdn.ranges == [None, resumed]
    assert cdn.asked[1].get("if-range") == ('"cdn"' if where != "first" else None)


async def test_the_sum_that_the_hub_links_to_is_held_against_what_comes(tmp_path: Path) -> None:
    cdn = FileHost(content(SIZE, 2))
    hub_headers = {"x_linked_etag": f'"{FileHost(DATA).sum}"', "x_linked_size": str(SIZE)}
    async with serve(cdn) as second, bench(tmp_path, redirecting(second.url, **hub_headers)) as b:
        error = await b.trouble(b.source(sha256=None))
        assert "a different checksum" in error.message
        assert b.left() == set()


async def test_a_hub_that_links_to_another_sum_than_it_listed_is_not_followed(
    tmp_path: Path,
) -> None:
    cdn = FileHost(DATA)
    hub_headers = {"x_linked_etag": f'"{"ab" * 32}"'}
    async with serve(cdn) as second, bench(tmp_path, redirecting(second.url, **hub_headers)) as b:
        error = await b.trouble()
        assert "a different checksum than it was listed with" in error.message
        assert cdn.sent <= SIZE
        assert b.left() == set()


async def test_a_report_that_fails_ends_the_transfer_as_itself(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        b.steps = _Failing()
        with pytest.raises(LookupError, match="mine"):
            await b.fetch()
        with pytest.raises(LookupError, match="mine"):
            await b.fetch()


class _Failing(list[Progress]):
    def append(self, _step: Progress) -> None:
        raise LookupError("mine")


async def test_a_server_that_is_not_there_is_reported_by_its_address(tmp_path: Path) -> None:
    async with bench(tmp_path, FileHost(DATA)) as b:
        gone = b.source()
    with pytest.raises(AIError, match="does not answer"):
        await b.fetch(gone)
    assert b.waits == [1, 2, 4, 8]
