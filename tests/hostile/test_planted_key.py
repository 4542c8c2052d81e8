"""A planted key is seen at a wrong server 0 times, whatever servers and settings say."""

import logging
from importlib import import_module
from pathlib import Path

import httpx
import pytest

from tests.hostile.planted import CASES, FAKES, SECRETS, Stage
from tests.support.canaries import coded, listening
from tests.support.http_server import Received, Reply, Server, serve

MIN_RATIOS = 30
for _module in ("planted_replies", "planted_settings"):  # which add their cases
    import_module(f"tests.hostile.{_module}")


def found_in(data: bytes) -> set[str]:
    return {secret for secret in SECRETS for form in coded(secret) if form in data}


def all_bytes(server: Server) -> bytes:
    return b"".join(
        repr((request.method, request.path, request.headers)).encode() + request.body
        for request in server.received
    )


TRIED = [(name, kind) for name, case in CASES.items() for kind in case.kinds]


@pytest.mark.one_in(10)
@pytest.mark.parametrize(("name", "kind"), TRIED)
async def test_a_planted_key_stays_with_its_server(
    name: str,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    case = CASES[name]
    caplog.set_level(logging.DEBUG)
    right = Server()
    async with listening() as wrong:
        stage = Stage(kind, right, wrong, tmp_path, monkeypatch.setenv, FAKES[kind])

        async def play(request: Received, reply: Reply) -> None:
            await stage.handler(request, reply)

        async with serve(play, right):
            await case.act(stage)
    assert found_in(bytes(wrong.received)) == set()
    shown = "\n".join([*stage.shown, caplog.text]).encode()
    assert found_in(shown) == set()
    assert stage.shown or not case.arrives
    if case.arrives:
        assert found_in(all_bytes(right)), "there was no key that could have gone astray"


def test_there_are_as_many_cases_as_promised() -> None:
    assert len(CASES) >= MIN_RATIOS


async def test_a_key_that_went_astray_would_be_noticed() -> None:
    """The client that follows redirects gives the key away: this is what is looked for."""
    async with listening() as wrong:

        async def sends_away(request: Received, reply: Reply) -> None:
            await reply.whole(b"", 307, headers={"location": f"{wrong.url}/steal"})

        async with serve(sends_away) as server, httpx.AsyncClient(follow_redirects=True) as client:
            await client.post(server.url, headers={"x-api-key": SECRETS[0]}, content=SECRETS[1])
    assert found_in(bytes(wrong.received)) == {SECRETS[0], SECRETS[1]}
