"""The first frame needs theme and keys alone: nothing heavy is loaded before it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = (
    "httpx",
    "httpcore",
    "pydantic",
    "pydantic_settings",
    "markdown_it",
    "pygments",
    "tomlkit",
    "openai",
    "anthropic",
    "ollama",
    "xllamacpp",
    "PIL",
    "ollm_tui.tui.transcript.thumbnail",
    "importlib.metadata",
    "ollm_tui.commands",
    "ollm_tui.protocol.request",
    "ollm_tui.providers",
    "ollm_tui.chat",
    "ollm_tui.config.schema",
    "ollm_tui.tui.transcript.search.session",
    "ollm_tui.tui.models.screen",
    "ollm_tui.tui.models.table",
    "ollm_tui.tui.transcript.search.search",
    "ollm_tui.runtime.compose",
    "ollm_tui.sound",
    "ollm_tui.tui.voice",
    "miniaudio",
)
PROGRAM = """
import sys
import anyio
import ollm_tui.tui.run  # as the command does
from pathlib import Path
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.chat.screen import ChatScreen
from ollm_tui.tui.services import Services

loaded = []
ChatScreen._open = lambda screen: loaded.extend(sys.modules)

async def main():
    app = OllmApp(Services(anyio.sleep_forever, Path("config.toml")))
    async with app.run_test() as pilot:
        while not loaded:
            await pilot.pause(0.01)
    print("\\n".join(loaded))

anyio.run(main)
"""


def test_nothing_heavy_is_loaded_before_the_first_frame(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "ollm_tui.tui.chat.screen" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_the_entry_point_itself_loads_no_textual() -> None:
    program = "import sys, ollm_tui.tui; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def test_no_command_loads_what_searches_for_packages() -> None:
    imports = "import sys, ollm_tui.cli, ollm_tui.providers.fingerprint"
    program = f"{imports}; sys.exit('pkgutil' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
