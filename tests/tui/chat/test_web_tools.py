"""A model that reads the web: the whole address is asked about, and the page answers."""

import json
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
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
    dialog._arming._armed_at = 0.0
    dialog._say_when_armed()
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
            messages = stage.controller.session.client.conversation.messages
            assert messages[-2].text.endswith("\n\nIt rains here.")
            assert [request.path for request in server.received] == ["/"]
