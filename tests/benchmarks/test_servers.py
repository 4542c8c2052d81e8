"""The comparison with `curl` runs against servers of known behaviour, and names what is missing."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import anyio.to_thread
import pytest

from benchmarks.servers import __main__ as servers
from benchmarks.servers.activity import (
    CannotTell,
    Look,
    by_processor_time,
    by_requests,
    listener,
    watch_of,
)
from benchmarks.servers.asking import Sent, Target, asked_by_curl, has_text
from tests.support.aborting import server_process
from tests.support.http_server import raw_server, sending
from tests.support.seeds import sampled_rows

FAKE_CURL = """#!/bin/sh
at=$(dirname "$0")
printf '%s\\n' "$@" > "$at/arguments"
for one; do case $one in @/*) cp -p "${one#@}" "$at/header";; esac; done
echo asked
"""
"""Notes its arguments, and copies the file that it is to take a header from."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed"),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["an answer", "a list"])
async def test_the_key_stands_in_no_command_line_and_in_no_file_that_others_read(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curl = tmp_path / "curl"
    curl.write_text(FAKE_CURL)
    curl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if case == "an answer":
        with asked_by_curl(Sent("http://127.0.0.1:9/api/chat", "{}"), "s3cret") as (lines, _):
            assert list(lines) == ["asked\n"]
    else:
        target = Target("ollama", "http://127.0.0.1:9", "m", "s3cret")
        rows = await servers._commands("ollm doctor", ["doctor"], target, 1)
        assert [row.error for row in rows] == ["", ""]
    (header,) = tmp_path.glob("header")
    assert header.read_text() == "Authorization: Bearer s3cret\n"
    assert stat.S_IMODE(header.stat().st_mode) == 0o600
    arguments = (tmp_path / "arguments").read_text()
    assert "s3cret" not in arguments
    (name,) = [line[1:] for line in arguments.splitlines() if line.startswith("@/")]
    assert not Path(name).exists()


@pytest.mark.parametrize(
    "reply", [b"junk\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"]
)
async def test_a_server_that_does_not_speak_http_there_ends_no_run(reply: bytes) -> None:
    async with raw_server(sending(reply)) as port:
        with pytest.raises(CannotTell, match="/slots is not answered in HTTP"):
            await anyio.to_thread.run_sync(watch_of, f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999", "http://[::1", "https://127.0.0.1", "127.0.0.1:9"]
)
@pytest.mark.parametrize("look", [watch_of, listener])
def test_what_is_no_plain_address_is_reported(look: Callable[[str], object], url: str) -> None:
    with pytest.raises(CannotTell, match="is no"):
        look(url)


def looks(*numbers: float) -> list[Look]:
    """One look in every hundredth of a second."""
    return [Look(at / 100, at / 100 + 0.001, number) for at, number in enumerate(numbers)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "module", "model"),
    sampled_rows([("generic", "fake_openai", "tiny"), ("ollama", "fake_ollama", "tiny:latest")], 1),
)
def test_everything_is_measured_on_a_server_that_streams(
    kind: str, module: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with server_process(module) as url:
        arguments = [kind, url, model, "--rounds", "1", "--command-rounds", "1"]
        code = servers.main([*arguments, "--long", "forever 2000"])
    table = capsys.readouterr().out
    assert code == 0
    for what in ("first text", "until the server is idle", "ollm doctor", "ollm models list"):
        assert f"{what}" in table
    assert "not measured" not in table, table
    assert "told by: processor time" in table


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_named_and_nothing_else_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["ollama", "http://127.0.0.1:9", "m", "--rounds", "1", "--command-rounds", "1"]
    servers.main(arguments)
    table = capsys.readouterr().out
    for case in ("first text", "stop until idle", "ollm models list"):
        assert f"not measured: ollm, {case}: " in table
    assert "not measured: ollm, ollm doctor" not in table  # which says what is wrong there


def test_an_answer_that_ended_before_the_stop_is_not_taken_for_a_stopped_one() -> None:
    with pytest.raises(CannotTell, match="had ended before"):
        by_requests(looks(1, 0, 0, 0), stopped=0.025)


def test_the_first_look_without_a_request_is_the_end() -> None:
    found = by_requests(looks(1, 1, 1, 0, 0), stopped=0.015)
    assert found == pytest.approx(0.031)


def test_a_look_that_began_before_the_stop_does_not_count() -> None:
    early = [Look(0.0, 0.001, 1), Look(0.01, 0.05, 0)]
    assert by_requests(early, stopped=0.02) is None


def test_processor_time_that_stands_still_is_the_end() -> None:
    busy = [at / 100 for at in range(20)]
    found = by_processor_time(looks(*busy, *[0.2] * 20), stopped=0.15)
    assert found == pytest.approx(0.201)
    assert by_processor_time(looks(*busy), stopped=0.15) is None


def test_a_server_that_does_nothing_before_the_stop_tells_nothing() -> None:
    with pytest.raises(CannotTell, match="processor time"):
        by_processor_time(looks(*[1.0] * 40), stopped=0.2)


def test_the_process_behind_an_address_is_found() -> None:
    with server_process("fake_ollama") as url:
        assert listener(url) > 0
        assert watch_of(url).how == "processor time"


def test_a_server_elsewhere_cannot_be_watched() -> None:
    with pytest.raises(CannotTell, match="no process of this machine"):
        listener("http://192.0.2.1:11434")


@pytest.mark.parametrize(
    ("line", "is_text"),
    [
        ('{"message":{"role":"assistant","content":"a"},"done":false}', True),
        ('{"message":{"role":"assistant","content":""},"done":true}', False),
        ('{"message":{"content":"","thinking":"a"},"done":false}', True),
        ('data: {"choices":[{"delta":{"role":"assistant","content":null}}]}', False),
        ('data: {"choices":[{"delta":{"reasoning_content":"a"}}]}', True),
        ('data: {"choices":[],"usage":{}}', False),
        ("data: [DONE]", False),
        ("", False),
    ],
)
def test_a_line_with_text_is_distinguished_from_the_others(line: str, is_text: bool) -> None:
    assert has_text(line) is is_text
