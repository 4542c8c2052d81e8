"""Pictures with an engine of this machine, on the engine of the tests."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded.drawing import DrawingOperations
from ollm_tui.providers.embedded.drawing_plans import DrawingPlanner
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.supervisor import Supervisor
from ollm_tui.providers.embedded.worker import WorkerPlan, Workers
from tests.support.engine_cases import fake_plan
from tests.support.picture_bytes import png

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


class FakePlanner(DrawingPlanner):
    """Plans the engine of the tests for every model."""

    def __init__(self, folder: Path, content: str = "model draws") -> None:
        super().__init__(FolderLibrary([folder]), KnownModels(), EmbeddedSettings())
        self._folder = folder
        self._content = content

    def plan(self, name: str, *, is_required: bool = False) -> WorkerPlan | None:
        return fake_plan(self._folder, self._content)


@asynccontextmanager
async def engine(folder: Path, content: str = "model draws") -> AsyncIterator[DrawingOperations]:
    async with Supervisor(EmbeddedSettings(load_timeout_s=20)) as supervisor:
        yield DrawingOperations(FakePlanner(folder, content), Workers(supervisor), "embedded")


def wish(
    *pictures: bytes,
    prompt: str = "a red cat",
    mask: bytes | None = None,
    seed: int | None = None,
    signal: AbortSignal | None = None,
    **body: Any,
) -> Request:
    return Request(
        model="m",
        input=[TextContent(prompt), *(ImageContent(data=one) for one in pictures)],
        output="image",
        mask=None if mask is None else ImageContent(data=mask),
        stream=False,
        options=GenerationOptions(seed=seed, extra_body=body or None),
        signal=signal,
    )


async def test_pictures_come_with_steps_previews_and_seeds(tmp_path: Path) -> None:
    steps: list[DrawingProgress] = []

    async def report(progress: DrawingProgress) -> None:
        steps.append(progress)

    async with engine(tmp_path) as them:
        response = await them.draw(wish(seed=3, n=2, size="5x4"), report)
    assert [(one.step, one.total_steps) for one in steps if not one.preview] == [
        *((1, 4), (2, 4), (3, 4), (4, 4))
    ]
    assert [one.step for one in steps if one.preview] == [1, 3]
    pictures = [block for block in response.content if isinstance(block, ImageContent)]
    assert [(one.mime_type, one.width, one.height) for one in pictures] == [("image/png", 5, 4)] * 2
    assert response.metadata["seeds"] == [3, 4]


async def test_the_engine_gets_texts_pictures_and_options(tmp_path: Path) -> None:
    async with engine(tmp_path) as them:
        request = wish(png(), mask=png(), negative_prompt="blue", steps=9)
        (picture,) = (await them.draw(request)).content
    assert isinstance(picture, ImageContent)
    # The engine of the tests tells in the size: one and four parts, and the steps.
    assert (picture.width, picture.height) == (5, 9)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"size": "big"}, "`size` of pictures takes a width and a height"),
        ({"steps": "many"}, "`steps` of pictures takes a number"),
        ({"steps": True}, "`steps` of pictures takes a number"),
        ({"sampler": 3}, "`sampler` of pictures takes a text"),
        ({"hires": True}, "`hires` is no option for pictures with the built-in engine"),
    ],
)
async def test_what_the_engine_does_not_take_is_refused(
    tmp_path: Path, body: dict[str, Any], words: str
) -> None:
    async with engine(tmp_path) as them:
        with pytest.raises(AIError, match=words):
            await them.draw(wish(**body))


async def test_limits_of_prompt_and_seed(tmp_path: Path) -> None:
    async with engine(tmp_path) as them:
        with pytest.raises(AIError, match="too many"):
            await them.draw(wish(prompt="x" * 100_001))
        with pytest.raises(AIError, match="`seed` of pictures"):
            await them.draw(wish(seed=2**63))


async def test_a_stop_ends_the_drawing_and_the_next_one_works(tmp_path: Path) -> None:
    stop = AbortSignal()

    async def report(_progress: DrawingProgress) -> None:
        stop.abort()

    async with engine(tmp_path) as them:
        with anyio.fail_after(20), pytest.raises(AIError) as caught:
            await them.draw(wish(prompt="forever", signal=stop), report)
        assert caught.value.code == ErrorCode.ABORTED
        assert (await them.draw(wish())).content


async def test_a_missing_package_names_the_command(tmp_path: Path) -> None:
    async with engine(tmp_path, "model missing") as them:
        with pytest.raises(AIError) as caught:
            await them.draw(wish())
    assert caught.value.code == ErrorCode.MODEL_NOT_LOADED
    assert caught.value.provider == "embedded"
