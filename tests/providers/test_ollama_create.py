"""Models are made on an Ollama server, quantized and pushed; files are sent once."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelDraft, PullProgress
from ollm_tui.protocol.ports import SupportsCreate, SupportsPush, SupportsQuantize
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.providers.ollama import OllamaProvider
from ollm_tui.providers.ollama.create import CREATE
from ollm_tui.providers.ollama.pull import explain_failure
from ollm_tui.providers.pool import Member, pool_of
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import Handler, Received, Reply, Server, raw_server, serve

Steps = list[PullProgress]


@asynccontextmanager
async def ollama(
    handler: Handler, *, idle_s: float = 5.0
) -> AsyncIterator[tuple[OllamaProvider, Server]]:
    async with serve(handler) as server:
        spec = ProviderSpec(
            name="local", kind="ollama", label="Ollama", base_url=server.url, idle_timeout_s=idle_s
        )
        provider = OllamaProvider(spec)
        try:
            yield provider, server
        finally:
            await provider.dispose()


def taking(steps: Steps) -> Callable[[PullProgress], Any]:
    async def take(step: PullProgress) -> None:
        steps.append(step)

    return take


def model_file(folder: Path, name: str = "m.gguf", size: int = 3_000_000) -> Path:
    path = folder / name
    path.write_bytes(b"GGUF" + b"x" * size)
    return path


async def test_a_model_is_made_from_another_one() -> None:
    fake, steps = OllamaServer(), Steps()
    draft = ModelDraft(
        base="tiny",
        system_prompt="Be brief.",
        template="{{ .Prompt }}",
        options=GenerationOptions(temperature=0.1, max_tokens=5, stop=("a",), keep_alive="5m"),
    )
    async with ollama(fake) as (provider, _):
        assert isinstance(provider, SupportsCreate)
        await provider.create_model("mine", draft, taking(steps))
    assert fake.made["mine:latest"] == {
        "model": "mine",
        "from": "tiny",
        "system": "Be brief.",
        "template": "{{ .Prompt }}",
        "parameters": {"temperature": 0.1, "num_predict": 5, "stop": ["a"]},
        "stream": True,
    }
    assert [step.status for step in steps][-2:] == ["writing manifest", "success"]


async def test_files_are_sent_with_their_checksum_and_only_once(tmp_path: Path) -> None:
    fake, path = OllamaServer(), model_file(tmp_path)
    digest = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    async with ollama(fake) as (provider, server):
        for name in ("one", "two"):
            steps = Steps()
            await provider.create_model(name, ModelDraft(files=(path,)), taking(steps))
            assert fake.made[f"{name}:latest"]["files"] == {"m.gguf": digest}
            assert steps[0].status == "computing the checksum of m.gguf"
        sent = [one for one in server.received if one.path.startswith("/api/blobs/")]
        assert [one.method for one in sent] == ["HEAD", "POST", "HEAD"]
        assert sent[1].headers["content-length"] == str(path.stat().st_size)
        assert "transfer-encoding" not in sent[1].headers
        assert fake.blobs == {digest: path.read_bytes()}
        await server.settled()


async def test_a_model_is_quantized_with_progress() -> None:
    fake, steps = OllamaServer(), Steps()
    fake.models["big:f16"] = ["completion"]
    async with ollama(fake) as (provider, _):
        assert isinstance(provider, SupportsQuantize)
        await provider.quantize_model("big:f16", "q4_K_M", "small", taking(steps))
        sizes = [(one.completed, one.total) for one in steps if one.digest]
        assert sizes == [(0, 1_000_000), (500_000, 1_000_000), (1_000_000, 1_000_000)]
        assert fake.made["small:latest"]["quantize"] == "q4_K_M"
        with pytest.raises(AIError, match="only supported for F16") as caught:
            await provider.quantize_model("tiny", "q4_K_M", "small", taking(steps))
        assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
        assert "q8_0" in (caught.value.hint or "")


def test_a_file_that_is_refused_is_not_taken_for_a_wrong_quantization() -> None:
    refused = "failed to validate GGUF with llama-quantize without compatibility patches: "
    for why, hint in (
        ("llama-quantize unavailable: not found", "install Ollama again"),
        ("llama-quantize failed: exit status 1", "cannot use this file"),
    ):
        error = explain_failure(AIError(ErrorCode.INTERNAL_ERROR, refused + why), CREATE)
        assert hint in (error.hint or "")


async def test_a_model_is_pushed_with_progress() -> None:
    fake, steps = OllamaServer(), Steps()
    fake.models["me/mine:latest"] = ["completion"]
    async with ollama(fake) as (provider, _):
        assert isinstance(provider, SupportsPush)
        await provider.push_model("me/mine", taking(steps))
        assert [one.completed for one in steps if one.digest] == [None, 250, 500]
        assert steps[-1].status == "success"
        for name, code, hint in (
            ("tiny", ErrorCode.AUTH_FAILED, "ollama signin"),
            ("me/gone", ErrorCode.MODEL_NOT_FOUND, "ollm models list"),
        ):
            with pytest.raises(AIError) as caught:
                await provider.push_model(name, taking(steps))
            assert (caught.value.code, hint in (caught.value.hint or "")) == (code, True)


async def test_a_model_that_is_not_there_is_not_downloaded_unasked() -> None:
    async with ollama(OllamaServer()) as (provider, server):
        with pytest.raises(AIError) as caught:
            await provider.create_model("mine", ModelDraft(base="gone"), taking(Steps()))
        assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
        assert [one.path for one in server.received] == ["/api/show"]


async def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "no.gguf").write_text("no model")
    async with ollama(OllamaServer()) as (provider, server):
        draft = ModelDraft(files=(tmp_path / "gone.gguf",))
        with pytest.raises(AIError, match=r"gone\.gguf cannot be read: it does not exist"):
            await provider.create_model("mine", draft, taking(Steps()))
        assert server.received == []
        with pytest.raises(AIError, match="not in GGUF format") as caught:
            draft = ModelDraft(files=(tmp_path / "no.gguf",))
            await provider.create_model("mine", draft, taking(Steps()))
        assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE


async def test_a_file_that_changes_on_the_way_is_refused(tmp_path: Path) -> None:
    fake, path = OllamaServer(), model_file(tmp_path)
    steps: Steps = []

    async def change(step: PullProgress) -> None:
        if step.status.startswith("computing") and not steps:
            steps.append(step)
            with path.open("r+b") as file:
                file.write(b"GGML")

    async with ollama(fake) as (provider, server):
        with pytest.raises(AIError, match="digest mismatch") as caught:
            await provider.create_model("mine", ModelDraft(files=(path,)), change)
        assert "may have changed" in (caught.value.hint or "")
        await server.settled()
    assert fake.made == {}


def old_server(status: int = 404, body: bytes = b"404 page not found") -> Handler:
    async def answer(request: Received, reply: Reply) -> None:
        if request.path == "/api/show":
            await reply.json({"details": {}})
        else:
            await reply.whole(b"" if request.method == "HEAD" else body, status, "text/plain")

    return answer


async def test_an_old_server_is_told_apart(tmp_path: Path) -> None:
    path = model_file(tmp_path, size=10)
    async with ollama(old_server()) as (provider, _):
        for draft in (ModelDraft(base="tiny"), ModelDraft(files=(path,))):
            with pytest.raises(AIError, match="cannot create models") as caught:
                await provider.create_model("mine", draft, taking(Steps()))
            assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
        with pytest.raises(AIError, match="cannot push models"):
            await provider.push_model("tiny", taking(Steps()))


async def test_an_upload_that_stands_still_ends(tmp_path: Path) -> None:
    path = model_file(tmp_path, size=40_000_000)

    async def connection(stream: Any) -> None:
        async with stream:
            head = b""
            while b"HEAD" in head or b"\r\n\r\n" not in head:
                head += await stream.receive()
                if head.startswith(b"HEAD") and head.endswith(b"\r\n\r\n"):
                    await stream.send(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    head = b""
            await anyio.sleep_forever()

    async with raw_server(connection) as port:
        url = f"http://127.0.0.1:{port}"
        spec = ProviderSpec(
            name="local", kind="ollama", label="Ollama", base_url=url, idle_timeout_s=0.3
        )
        provider = OllamaProvider(spec)
        with anyio.fail_after(30), pytest.raises(AIError, match="The upload stalled") as caught:
            await provider.create_model("mine", ModelDraft(files=(path,)), taking(Steps()))
        assert caught.value.code == ErrorCode.TIMEOUT
        await provider.dispose()


async def test_cancelling_closes_the_connection(tmp_path: Path) -> None:
    async def slow(request: Received, reply: Reply) -> None:
        if request.path == "/api/show":
            await reply.json({"details": {}})
            return
        await reply.start(content_type="application/x-ndjson")
        await reply.write(json.dumps({"status": "working"}).encode() + b"\n")
        await anyio.sleep_forever()

    async with ollama(slow) as (provider, server):
        async with anyio.create_task_group() as group:
            steps: Steps = []

            async def work() -> None:
                await provider.create_model("mine", ModelDraft(base="tiny"), taking(steps))

            group.start_soon(work)
            with anyio.fail_after(10):
                while not steps:
                    await anyio.sleep(0.001)
            group.cancel_scope.cancel()
        with anyio.fail_after(10):
            while not server.disconnects:
                await anyio.sleep(0.001)


async def test_a_pool_makes_a_model_on_every_member_and_pushes_it_once() -> None:
    fakes = [OllamaServer(), OllamaServer()]
    del fakes[1].models["thinker:latest"]
    async with ollama(fakes[0]) as (first, _), ollama(fakes[1]) as (second, _):
        pool = pool_of("team", "Team", [Member(first, "a"), Member(second, "b")])
        assert isinstance(pool, SupportsCreate)
        assert isinstance(pool, SupportsPush)
        await pool.create_model("me/both", ModelDraft(base="tiny"), taking(Steps()))
        assert ["me/both:latest" in fake.made for fake in fakes] == [True, True]
        await pool.create_model("me/one", ModelDraft(base="thinker"), taking(Steps()))
        assert ["me/one:latest" in fake.made for fake in fakes] == [True, False]
        await pool.push_model("me/both", taking(steps := Steps()))
        assert [step.status for step in steps].count("success") == 1
