"""The benchmark's server is taken for the real ones by their own clients, and sees who leaves."""

import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from benchmarks.terminal.answer import MARKED, pieces
from benchmarks.terminal.backend.job import Job, job_of
from benchmarks.terminal.backend.server import WINDOW, BenchServer
from tests.support.pty_session import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[BenchServer]:
    with BenchServer() as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


PROMPT = "BENCH n=80 r=0 id=12"
ANSWER = "".join(pieces(80, 12))
ASKED = [{"role": "user", "content": PROMPT}]


def test_the_official_ollama_client_streams_the_answer(server: BenchServer) -> None:
    import ollama

    client = ollama.Client(host=server.url)
    parts = list(client.chat("fake", messages=ASKED, stream=True))
    assert "".join(part.message.content or "" for part in parts) == ANSWER
    assert (parts[-1].done, parts[-1].done_reason, parts[-1].eval_count) == (True, "stop", 80)
    assert [model.model for model in client.list().models] == ["fake:latest"]
    assert client.show("fake").capabilities == ["completion", "tools"]
    assert client.ps().models[0].context_length == WINDOW
    assert client.chat("fake", messages=ASKED).message.content == ANSWER
    generated = client.generate("fake", PROMPT, stream=True)
    assert "".join(part.response or "" for part in generated) == ANSWER
    client._client.close()


def test_the_official_openai_client_streams_the_answer(server: BenchServer) -> None:
    import openai

    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
        with client.chat.completions.stream(
            model="fake",
            messages=[{"role": "user", "content": PROMPT}],
            stream_options={"include_usage": True},
        ) as stream:
            done = stream.get_final_completion()
        whole = client.chat.completions.create(
            model="fake", messages=[{"role": "user", "content": PROMPT}]
        )
        names = [model.id for model in client.models.list()]
    assert done.choices[0].message.content == whole.choices[0].message.content == ANSWER
    assert done.usage is not None
    assert done.usage.completion_tokens == 80
    assert names == ["fake:latest"]


def test_the_official_openai_client_streams_a_response(server: BenchServer) -> None:
    import openai

    with (
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none") as client,
        client.responses.stream(model="fake", input=PROMPT) as stream,
    ):
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        done = stream.get_final_response()
    assert "".join(deltas) == done.output_text == ANSWER


def test_a_whole_answer_is_noted_with_its_times(server: BenchServer) -> None:
    with httpx.stream("GET", f"{server.url}/raw?n=40&r=400&id=3") as reply:
        text = reply.read().decode()
    assert text == "".join(pieces(40, 3)) + "\n"
    [record] = server.records
    assert (record.ident, record.sent, record.complete, record.gone) == (3, 40, True, None)
    assert record.first is not None
    assert record.last is not None
    assert record.last - record.first >= 39 / 400


def test_it_is_noted_when_each_marked_word_was_sent(server: BenchServer) -> None:
    with httpx.stream("GET", f"{server.url}/raw?n=200&r=0&every=20&id=3") as reply:
        text = reply.read().decode()
    [record] = server.records
    assert list(record.words) == MARKED.findall(text) != []
    times = list(record.words.values())
    assert times == sorted(times)
    assert record.asked < times[0]
    assert times[-1] <= (record.last or 0)


def test_a_client_that_hangs_up_is_noted_when_it_does(server: BenchServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as client:
        client.sendall(b"GET /raw?n=1000&r=1&id=4 HTTP/1.1\r\nhost: x\r\n\r\n")
        assert client.recv(10)
        left = time.perf_counter()
    assert wait_until(lambda: bool(server.records) and server.records[0].gone is not None)
    [record] = server.records
    assert record.gone is not None
    assert record.gone >= left
    assert not record.complete
    assert record.sent < 1000


@pytest.mark.parametrize(
    ("messages", "job"),
    [
        (["user BENCH n=5 r=2.5 id=7"], Job(7, 5, 2.5)),
        (["user BENCH n=5 every=3 id=7"], Job(7, 5, every=3)),
        (["user BENCH id=7"], Job(7, 200, 50.0)),
        (["user BENCH doc=rules whole=1 r=0 id=1"], Job(1, 200, 0.0, "rules", whole=True)),
        (["user BENCH id=1", "assistant done", "user BENCH id=2"], Job(2)),
        (["user BENCH id=1", "user a reminder"], Job(1)),
        (["user BENCH id=1", "assistant done", "user What now?"], None),
        (["system Generate a title for this chat", "user BENCH id=1"], None),
        (["user hello"], None),
        ([], None),
    ],
)
def test_a_prompt_says_what_is_sent(messages: list[str], job: Job | None) -> None:
    messages_sent = [
        dict(zip(("role", "content"), text.split(" ", 1), strict=True)) for text in messages
    ]
    assert job_of(messages_sent) == job
