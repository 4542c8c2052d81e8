"""From a key to a model that can be chatted with: the real queue, hub, registry and servers."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ollm_tui.tui.downloads.find_screen import FindModels
from ollm_tui.tui.downloads.variant_picker import VariantPicker
from tests.support.corpus import CORPUS, needs_corpus
from tests.support.fake_hub import Answer, FakeHub, serve_hub
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import Received, Reply, serve
from tests.support.hub_samples import sample_hub
from tests.tui.screens import RealStage, staged_for_real

SHARDED = "another/Large-70B-GGUF"


def held_after(most: int) -> Callable[[int], float]:
    """Let so many bytes come at once, and no more for as long as a test lasts."""
    sent = 0

    def pace(count: int) -> float:
        nonlocal sent
        sent += count
        return 0.0 if sent <= most else 600.0

    return pace


class Scene(RealStage):
    """The screen that finds models, on a real hub."""

    async def find(self, words: str) -> None:
        """Open the screen and look for something."""
        await self.send(f"/pull {words}")
        await self.until("Find models", test=lambda: isinstance(self.app.screen, FindModels))

    async def choose(self, first: str) -> None:
        """Look into the marked row and wait for what it has."""
        await self.pilot.press("enter")
        await self.until(first, test=lambda: isinstance(self.app.screen, VariantPicker))


@asynccontextmanager
async def scene(
    folder: Path, hub: FakeHub, ollama: str = "http://127.0.0.1:9"
) -> AsyncIterator[Scene]:
    environ = {"HF_ENDPOINT": hub.url, "OLLAMA_HOST": ollama}
    async with staged_for_real(folder, environ, size=(120, 40)) as stage:
        yield Scene(stage.app, stage.pilot, stage.runtime)


async def test_a_split_model_is_found_chosen_paused_gone_on_with_and_kept(tmp_path: Path) -> None:
    hub = sample_hub(2_000_000)
    hub.pace = held_after(3_000_000)
    async with serve_hub(hub), scene(tmp_path, hub) as played:
        await played.find("large")
        await played.until(SHARDED, "70")
        await played.choose("Q8_0")
        await played.until("3 parts", "4 parts", "licence llama3.1")
        await played.pilot.press("down", "enter")
        await played.until("Downloads", "Large-70B-Q4_K_M", "3 of 5 MB", "file 2 of 3")
        await played.pilot.press("tab", "p")
        await played.until("paused")
        hub.pace = None
        await played.pilot.press("p", "escape", "escape")
        await played.until("Downloaded", test=lambda: played.app.screen is played.chat)
    files = sorted(path.name for path in (tmp_path / "data").rglob("*.gguf"))
    assert files == [f"Large-70B-Q4_K_M-{part:05}-of-00003.gguf" for part in (1, 2, 3)]
    repo = hub.repo(SHARDED)
    assert repo is not None
    wanted = {file.path.rpartition("/")[2]: file.size for file in repo.files}
    for path in (tmp_path / "data").rglob("*.gguf"):
        assert path.stat().st_size == wanted[path.name]


async def test_a_model_that_has_come_can_be_chatted_with_at_once(tmp_path: Path) -> None:
    hub = sample_hub()
    async with serve_hub(hub), scene(tmp_path, hub) as played:
        await played.find(f"{hub.url}/someone/Scripted-GGUF")
        await played.until("someone/Scripted-GGUF")
        await played.choose("Q8_0")
        await played.pilot.press("enter")
        await played.until("done")
        await played.pilot.press("tab", "enter")
        await played.until("Now using Scripted-Q8_0.")
        model = played.controller.session.client.conversation.model
        assert model is not None
        assert model.startswith("embedded://")
        found = await played.runtime.router.resolve(model)
        assert str(found.ref) == model


async def test_what_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    hub = sample_hub(2_000_000)
    hub.pace = held_after(1_000_000)
    async with serve_hub(hub), scene(tmp_path, hub) as played:
        await played.find(SHARDED)
        await played.choose("Q8_0")
        await played.pilot.press("enter")
        await played.until("Large-70B-Q8_0", "kB of 7 MB")
        await played.pilot.press("tab", "x")
        await played.until("cancelled")
    kept = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert [path.name for path in kept if "Large" in path.name] == []


async def test_a_hub_that_fails_is_reported_and_the_known_models_stay(tmp_path: Path) -> None:
    hub = sample_hub()

    def refuse(_request: Received) -> Answer:
        return Answer(503, b'{"error": "\x1b[2Jwe are \xe2\x80\xaedown"}')

    hub.instead = refuse
    async with serve_hub(hub), scene(tmp_path, hub) as played:
        await played.find("qwen3 8b")
        await played.until("Qwen3 8B", "local results are shown.")
        hub.instead = None
        await played.pilot.press("f5")
        await played.until(test=lambda: "Only local results" not in played.screen_text)


class RecordedPulls(OllamaServer):
    """Answers a pull of a recorded case's name with its body, byte for byte."""

    async def pull(self, name: str, reply: Reply) -> None:
        folder = CORPUS / "pull" / name.partition(":")[0]
        meta = json.loads((folder / "meta.json").read_text("utf-8"))
        body = (folder / "body.bin").read_bytes()
        await reply.start(meta["status"], content_type=meta["content_type"])
        await reply.write(body)


@pytest.mark.slow
@needs_corpus
async def test_every_recorded_pull_ends_on_the_screen_as_it_ended(tmp_path: Path) -> None:
    hub, ollama = sample_hub(), RecordedPulls()
    cases = [json.loads(path.read_text("utf-8")) for path in CORPUS.glob("pull/*/meta.json")]
    assert len(cases) > 5
    async with (
        serve_hub(hub),
        serve(ollama) as server,
        scene(tmp_path, hub, server.url) as played,
    ):
        for case in cases:
            wanted = case["expected"]
            name = f"{case['id']}:7b"
            await played.find(name)
            await played.until(f"{name}  pull it on Ollama")
            await played.pilot.press("enter")
            await played.until(name[:24], "Downloads", "done" if wanted["success"] else "failed")
            if wanted["error"]:
                await played.until(wanted["error"]["message"][:60])  # a line more, a frame later
            await played.pilot.press("tab", "d")
            await played.until(test=lambda: not played.runtime.downloads.jobs())
            await played.pilot.press("escape")
            await played.until(test=lambda: played.app.screen is played.chat)


async def test_an_error_inside_a_good_answer_is_reported_in_the_chat_too(tmp_path: Path) -> None:
    hub, ollama = sample_hub(), OllamaServer()
    async with (
        serve_hub(hub),
        serve(ollama) as server,
        scene(tmp_path, hub, server.url) as played,
    ):
        await played.find("missing:7b")
        await played.until("missing:7b  pull it on Ollama")
        await played.pilot.press("enter")
        await played.until("failed", "pull model manifest: file does not exist")
        await played.pilot.press("escape")
        await played.until("could not be downloaded", "file does not exist")


async def test_ollama_pulls_what_was_typed_and_it_can_be_used_at_once(tmp_path: Path) -> None:
    hub, ollama = sample_hub(), OllamaServer()
    async with (
        serve_hub(hub),
        serve(ollama) as server,
        scene(tmp_path, hub, server.url) as played,
    ):
        await played.find("fresh:7b")
        await played.until("fresh:7b  pull it on Ollama")
        await played.pilot.press("enter")
        await played.until("done")
        await played.pilot.press("escape")
        await played.until("Downloaded fresh:7b on ollama", "/model ollama://fresh:7b")
        await played.send("/model ollama://fresh:7b")
        await played.until("Now using fresh:7b.")
