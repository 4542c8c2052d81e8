"""A model that uses the web and runs code: all of it is asked about, then it is done."""

import json
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from ollm_tui.tui.dialogs.reading import Reading
from tests.support.engine import needs_engine
from tests.support.tiny_gguf import END_TOOL, TEMPLATE, TOOL, write_scripted
from tests.tools.web_site import site
from tests.tui.screens import RealStage, staged_for_real

CALLS = TEMPLATE.replace(
    "{%- elif tools and 'tool' in last %}{{- '<|say:call|>' }}",
    "{%- elif tools and 'page' in last %}{{- '<|say:web|>' }}",
)


def write_model(folder: Path, name: str, **arguments: str) -> None:
    """Write a model that calls a tool when it is asked about a page."""
    assert CALLS != TEMPLATE
    models = folder / "data" / "models"
    models.mkdir(parents=True, exist_ok=True)
    call = json.dumps({"name": name, "arguments": arguments})
    said = f"{TOOL}\n{call}\n{END_TOOL}"
    write_scripted(models / "reader.gguf", CALLS, after={"<|say:web|>": said})


async def allow(stage: RealStage, *shown: str) -> None:
    """Read the question and answer it with yes."""
    await stage.until(*shown, test=lambda: isinstance(stage.app.screen, ApproveTool))
    dialog = stage.app.screen
    assert isinstance(dialog, ApproveTool)
    await stage.until(test=lambda: dialog.may_consent)
    while not dialog._decided.is_set():  # a screen that comes back waits for a pause again
        dialog._arming._armed_at = 0.0
        await stage.pilot.press("y")


@pytest.mark.engine
@needs_engine
async def test_a_page_is_asked_about_with_its_host_then_read(tmp_path: Path) -> None:
    async with site() as server:
        url = f"http://127.0.0.1:{server.port}/"
        write_model(tmp_path, "web_fetch", url=url)
        environ = {
            "OLLAMA_HOST": "http://127.0.0.1:9",
            "OLLM_TOOLS__PRIVATE_NETWORKS": '["127.0.0.0/8"]',
        }
        flags = Flags(model="embedded://reader", tools=("web_fetch",))
        async with staged_for_real(tmp_path, environ, flags, size=(100, 40)) as stage:
            await stage.send("Read the page, please.")
            await stage.until("Run web_fetch?", url, "to the host", "GET, ")
            assert server.opened == 0
            await allow(stage)
            await stage.until("web_fetch", "✓", "it is sunny there.")
            assert stage.last_result.endswith("\n\nIt rains here.")
            assert [request.path for request in server.received] == ["/"]


@pytest.mark.engine
@needs_engine
async def test_a_search_is_asked_about_with_its_words(tmp_path: Path) -> None:
    found = {"results": [{"title": "Rain", "url": "https://example.org/", "content": "It rains."}]}
    page = (200, "application/json", json.dumps(found).encode())
    async with site({"/search": page}) as server:
        write_model(tmp_path, "web_search", query="rain in May")
        environ = {
            "OLLAMA_HOST": "http://127.0.0.1:9",
            "OLLM_TOOLS__SEARCH_URL": f"http://127.0.0.1:{server.port}",
        }
        flags = Flags(model="embedded://reader", tools=("web_search",))
        async with staged_for_real(tmp_path, environ, flags, size=(100, 40)) as stage:
            await stage.send("Search a page, please.")
            await allow(stage, "Run web_search?", "rain in May", "q=rain+in+May")
            await stage.until("web_search", "✓", "it is sunny there.")
            assert stage.last_result.endswith("1. Rain\nhttps://example.org/\nIt rains.")


@pytest.mark.engine
@needs_engine
async def test_code_is_shown_whole_in_colours_then_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "data.txt").write_text("19\n23\n")
    monkeypatch.chdir(root)
    code = (
        "total = 0\n\nfor line in open('data.txt'):\n    total += int(line)  # each\nprint(total)"
    )
    write_model(tmp_path, "run_python", code=code)
    flags = Flags(model="embedded://reader", tools=("run_python",))
    environ = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with staged_for_real(tmp_path, environ, flags, size=(100, 40)) as stage:
        await stage.send("Compute a page, please.")
        await stage.until("Run run_python?", "for line in open('data.txt'):", "print(total)")
        reading = stage.app.screen.query_one(Reading)
        row = next(reading.render_line(y) for y in range(10) if "for line" in _text(reading, y))
        looks = {segment.text: segment.style for segment in row if segment.text.strip()}
        assert looks["for"] != looks["'data.txt'"]
        await allow(stage)
        await stage.until("run_python", "✓", "it is sunny there.")
        assert stage.last_result == "42"


def _text(reading: Reading, y: int) -> str:
    return "".join(segment.text for segment in reading.render_line(y))
