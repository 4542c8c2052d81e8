"""With NO_COLOR no colour arrives at the terminal, and what is chosen can be seen all the same."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Start, ask, ready
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import in_thread
from tests.support.vt import tokens

pytestmark = pytest.mark.pty

STYLES = {"SGR 39", "SGR 49", "SGR 0", "SGR 1", "SGR 2", "SGR 3", "SGR 4", "SGR 7", "SGR 9"}
"""The default colours, plain, bold, dim, italic, underlined, reversed, struck out."""


@pytest.mark.parametrize("theme", ["dusk", "contrast"])
def test_no_colour_arrives(start: Start, home: Path, theme: str) -> None:
    with in_thread(fake_ollama) as server:
        env = {"OLLAMA_HOST": server.url, "NO_COLOR": "1"}
        with start(home, "--theme", theme, env=env) as session:
            ready(session)
            ask(session, "markdown")
            session.wait_for("tok/s", timeout=20)
            session.write("\x10")  # the palette, whose first row is highlighted
            session.wait_for("Type to filter", timeout=20)
            shapes = {shape for one in tokens(session.raw) for shape in one.shapes()}
    sent = {shape for shape in shapes if shape.startswith("SGR")}
    assert sent <= STYLES
    assert "SGR 4" in sent  # the row that is highlighted
