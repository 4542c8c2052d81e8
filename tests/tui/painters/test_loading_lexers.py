"""The lexer of a language is loaded in a thread: meanwhile code is shown without colours."""

import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from ollm_tui.decode import lexing
from ollm_tui.tui.painters.code import lexers_are_ready
from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.painters.rows import Canvas, Palette
from tests.support.pty_session import wait_until

CODE = "def f():\n    return 1\n"


class Loading:
    """Loads the lexer of Python for any name, when it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_go_on = threading.Event()
        self.threads: list[threading.Thread] = []
        self._load = lexing._load_lexer
        monkeypatch.setattr(lexing, "_load_lexer", self.load)

    def load(self, language: str) -> lexing.Lexer | None:
        self.threads.append(threading.current_thread())
        self.may_go_on.wait(30)
        return self._load("python") if language != "nosuch" else None


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loading]:
    for cached in (lexing.find_lexer, lexing._loading):
        cached.cache_clear()
    made = Loading(monkeypatch)
    yield made
    made.may_go_on.set()
    for cached in (lexing.find_lexer, lexing._loading):
        cached.cache_clear()


def painter(markdown: str) -> MarkdownPainter:
    painter = MarkdownPainter(Canvas(40, Palette()))
    painter.append(markdown)
    return painter


def texts(painter: MarkdownPainter) -> list[str]:
    return [painter.rows.row(number).text.rstrip() for number in range(painter.rows.row_count)]


def pieces(painter: MarkdownPainter) -> int:
    """Count the differently coloured pieces of the rows."""
    return sum(len(painter.rows.row(at).segments) for at in range(painter.rows.row_count))


def painted(painter: MarkdownPainter) -> bool:
    return not painter.work(monotonic() + 0.01)


@pytest.mark.parametrize("is_closed", [False, True])
def test_code_is_shown_without_colours_until_its_lexer_is_there(
    loading: Loading, is_closed: bool
) -> None:
    answer = painter(f"```made-up\n{CODE}" + "```\n\nend\n" * is_closed)
    for _ in range(5):
        assert not painted(answer)
    shown, plain = texts(answer), pieces(answer)
    assert " def f():" in shown
    loading.may_go_on.set()
    assert wait_until(lambda: painted(answer))
    assert texts(answer) == shown
    assert pieces(answer) > plain
    assert threading.main_thread() not in loading.threads


def test_code_in_an_item_waits_for_its_lexer_in_no_step(loading: Loading) -> None:
    answer = painter("1. so:\n   ```made-up\n   def f(): pass\n")
    for _ in range(5):
        assert not painted(answer)
    loading.may_go_on.set()
    assert wait_until(lambda: painted(answer))
    assert any("def f(): pass" in text for text in texts(answer))
    assert threading.main_thread() not in loading.threads


def test_a_name_without_a_lexer_is_looked_for_once_and_in_a_thread(loading: Loading) -> None:
    loading.may_go_on.set()
    assert wait_until(lambda: lexers_are_ready("> ```nosuch\n> ~~~\n"))
    answer = painter(f"```nosuch\n{CODE}```\n")
    assert wait_until(lambda: painted(answer))
    assert " def f():" in texts(answer)
    assert len(loading.threads) == 1
    assert loading.threads != [threading.main_thread()]


def test_code_without_a_name_waits_for_nothing(loading: Loading) -> None:
    assert painted(painter(f"```\n{CODE}"))
    assert painted(painter(f"```{'x' * 41}\n{CODE}"))
    assert loading.threads == []
