"""However the program ends while an answer comes, terminal and machine are as before."""

from pathlib import Path

import pytest

from tests.hostile.endings import ENDINGS, end_while_streaming
from tests.hostile.homes import make_home
from tests.support.fake_ollama import fake_ollama
from tests.support.forked import Forks
from tests.support.http_server import in_thread

pytestmark = [pytest.mark.slow, pytest.mark.pty]


@pytest.mark.parametrize("name", ENDINGS)
def test_nothing_is_left_behind(name: str, tmp_path: Path, forks: Forks) -> None:
    home = make_home(tmp_path / "home")
    with in_thread(fake_ollama) as server:
        left = end_while_streaming(ENDINGS[name], home, server.url, forks)
    assert left.faults == ()
    assert left.seconds < 5
