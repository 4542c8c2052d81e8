"""Draw the pictures of the README from the app itself.

    python -m scripts.screenshot docs/images

The real app runs without a terminal; only the answers are given, so that the pictures stay the
same until the app changes.
"""

import math
import sys
from array import array
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from textual.widgets import Input, TextArea

from ollm_tui.attachments.media import media_of
from ollm_tui.library.downloads.job import Job, ProviderPull
from ollm_tui.protocol.blocks import TextContent
from ollm_tui.protocol.chat_events import Finish
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo, from_alias
from ollm_tui.providers.catalog import Listing
from ollm_tui.sound.wav import SampleFormat
from tests.support.video_bytes import mp4
from tests.tui.models.managed import ManagedRuntime, ScriptedManager
from tests.tui.models.scenes import IN_MEMORY, MACHINE, QWEN, opened
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedCatalog, finish, text, thinking
from tests.tui.scripted_fetching import ScriptedDownloads, no_pause
from tests.tui.svg import normalised, picture
from tests.tui.transcript.test_pictures_in_chat import picture_event, scene

ANSWER = """At noon sunlight crosses **little air**, so mostly the short waves are scattered \
and reach you from everywhere. At dusk it crosses ten times as much: blue is spent on the way, \
and what is left is red.

| angle | air crossed      | colour |
|------:|-----------------:|--------|
| 90°   |                1 | blue   |
| 30°   |                2 | blue   |
| 5°    |               10 | red    |

Scattering grows with the fourth power of frequency:

```python
def scattered(wavelength_nm: float) -> float:
    return (550 / wavelength_nm) ** 4
```
"""
SIZE = (96, 34)
LEVELS = (0.1, 0.4, 0.7, 0.9, 0.8, 0.5, 0.2, 0.1, 0.3, 0.6, 0.8, 0.4)
"""How loud a recording is, by tenths of a second."""
GB = 1_000_000_000


def models() -> ScriptedCatalog:
    """Return the models of a well-stocked desk."""
    chat, vision = from_alias("chat"), from_alias("vision")

    def listing(provider: str, label: str, *infos: ModelInfo) -> Listing:
        return Listing(provider=provider, label=label, models=infos)

    catalog = ScriptedCatalog(
        listing(
            "local",
            "Ollama",
            ModelInfo(
                name="qwen3:8b",
                size_bytes=5 * GB,
                modified_at="2026-11-02T10:00:00Z",
                context=32_768,
                capability=chat,
                loaded=True,
                details={"quantization": "Q4_K_M"},
            ),
            ModelInfo(
                name="gemma3:12b",
                size_bytes=8 * GB,
                modified_at="2026-10-14T10:00:00Z",
                context=131_072,
                capability=vision,
                details={"quantization": "Q4_K_M"},
            ),
        ),
        listing(
            "embedded",
            "Built-in",
            ModelInfo(
                name="SmolLM2-135M-Instruct.Q4_1",
                size_bytes=98_362_432,
                modified_at="2026-11-19T10:00:00Z",
                context=4_096,
                capability=chat,
                details={"quantization": "Q4_1"},
            ),
        ),
        listing(
            "vllm",
            "vLLM",
            ModelInfo(name="llama-3.3-70b", context=65_536, capability=chat, loaded=True),
        ),
    )
    for alias, name in (("ollama", "local"), ("built-in", "embedded")):
        catalog.registry.register_alias(alias, name, is_shown=True)
    return catalog


def downloads(picture: str) -> list[Job]:
    """Return what is fetched in a picture: something only where it is about that."""
    pull = Job(
        id="1",
        origin=ProviderPull(provider="local", model="gemma3:12b"),
        title="gemma3:12b",
        state="running",
        completed=3_340_000_000,
        total=8 * GB,
        bytes_per_s=38_000_000.0,
        seconds_left=123.0,
    )
    return [pull] if picture == "find-models" else []


async def chat(stage: Stage) -> None:
    """Show a question, folded thinking and an answer."""
    await stage.ask("Why is the sky blue at noon and red at dusk?")
    stage.client.give(thinking("The person asks about Rayleigh scattering."))
    await stage.settle()
    # the one figure that comes from the clock
    presenter = stage.controller.presenter
    presenter._open = dict.fromkeys(presenter._open, 0.0)
    presenter._clock = lambda: 3.2
    stage.client.give(text(ANSWER), finish())


async def picker(stage: Stage) -> None:
    """Show the models of all engines."""
    await chat(stage)
    await stage.settle()
    await stage.pilot.press("ctrl+l")


async def manager(stage: Stage) -> None:
    """Show all models with what is known of them."""
    await opened(stage)


async def find_models(stage: Stage) -> None:
    """Show what a word finds, and a download."""
    stage.controller.downloads.sleep = no_pause
    await stage.ask("/pull qwen3")


async def dictation(stage: Stage) -> None:
    """Show a recording with its level."""
    await chat(stage)
    line = stage.controller.voice._line
    line.begin_recording("localai://whisper-1")
    for level in LEVELS:
        line.show_level(level, 4.2)


async def drawing(stage: Stage) -> None:
    """Show a picture that is being drawn."""
    stage.controller.say("Drawing with sd://painter.")
    await stage.ask("a boat on the sea, below the sun")
    stage.client.give(picture_event(scene(), step=12, total_steps=20))


async def reading(stage: Stage) -> None:
    """Show an answer that is read aloud."""
    stage.controller.say("Answers are read aloud by built-in://en_US-lessac-medium.")
    await chat(stage)
    stage.controller.voice._line.show_reading()


def recording() -> bytes:
    """Return a WAV file that is loud and quiet as words are."""
    form = SampleFormat()
    samples = array("h")
    for number in range(round(4.2 * form.rate)):
        at = number / form.rate
        loud = abs(math.sin(5.3 * at) * math.sin(1.7 * at + 0.4)) * (0.3 + abs(math.sin(11 * at)))
        samples.append(int(9000 * loud * math.sin(1400 * at)))
    return form.wav(samples.tobytes())


async def attachments(stage: Stage) -> None:
    """Show a question with a sound and a video."""
    film = mp4(6.0, 1280, 720) + bytes(1_400_000)
    files = [media_of("meeting.wav", recording()), media_of("walk.mp4", film)]
    words = TextContent("Is the voice in the recording that of the person in the video?")
    answer = "Most likely: the words fit the lips from the second sentence on."
    asked = Message("user", [words, *(file.content for file in files if file is not None)])
    stage.controller.presenter.recall([asked, Message("assistant", answer)])


async def editing(stage: Stage) -> None:
    """Show a drawing after an edit, and where it was saved."""
    stage.controller.say("Drawing with sd://painter.")
    await stage.ask("a boat on the sea, below the sun")
    stage.client.give(picture_event(scene()), Finish(reason="stop"))
    await stage.settle()
    await stage.ask("make it evening")
    stage.client.give(picture_event(scene(evening=True)), Finish(reason="stop"))
    await stage.settle()
    stage.controller.say("Saved boat.png.")


PICTURES: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "chat": chat,
    "models": picker,
    "manager": manager,
    "find-models": find_models,
    "dictation": dictation,
    "drawing": drawing,
    "reading": reading,
    "attachments": attachments,
    "editing": editing,
}


async def draw(folder: Path) -> None:
    """Write each picture as an SVG file."""
    folder.mkdir(parents=True, exist_ok=True)
    for field in (Input, TextArea):
        field.cursor_blink._default = False  # two pictures of one state would differ
    for name, show in PICTURES.items():
        manager = ScriptedManager(loaded=[(QWEN, IN_MEMORY)])
        runtime = ManagedRuntime(
            catalog=models(),
            manager=manager,
            this_machine=MACHINE,
            downloads=ScriptedDownloads(*downloads(name)),
        )
        async with staged(folder, runtime, size=SIZE) as stage:
            await show(stage)
            await stage.settle()
            (folder / f"{name}.svg").write_text(normalised(picture(stage.app)), "utf-8")


if __name__ == "__main__":
    anyio.run(draw, Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
