"""A template from a stranger can neither leave its process nor hold up the program."""

import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.templates.go_template import READ_LIMIT, actions_of, fields_of
from ollm_tui.templates.renderer import Refusal, TemplateRenderer
from tests.support.seeds import chance_for

pytestmark = [pytest.mark.slow, pytest.mark.anyio]
PACKAGE = Path(__file__).parents[2] / "ollm_tui"

ESCAPES = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ ''|attr('__class__')|attr('__mro__') }}",
    "{{ ''|attr('\\x5f\\x5fclass\\x5f\\x5f') }}",
    "{{ ''|attr(['__cla','ss__']|join) }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ joiner.__init__.__globals__.__builtins__.open('/etc/passwd').read() }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ self.__init__.__globals__.__builtins__.__import__('os').system('id') }}",
    "{{ self._TemplateReference__context.environment }}",
    "{{ raise_exception.__globals__ }}",
    "{{ strftime_now.func.__globals__ }}",
    "{{ strftime_now.__self__ }}",
    "{{ '{0.__class__.__mro__}'.format('') }}",
    "{% set f = '{0.__class__}'.format %}{{ f('') }}",
    "{{ '{a.__class__}'.format_map({'a': ''}) }}",
    "{% set f = '{a.__class__}'.format_map %}{{ f({'a': ''}) }}",
    "{{ ('%s' | format)(''.__class__) }}",
    "{{ ['{0.__class__}'] | map('format', '') | list }}",
    "{{ [''] | map(attribute='__class__') | list }}",
    "{{ [{}] | map(attribute='__class__.__base__') | list }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].update({'a': 1}) }}",
    "{{ (messages|map('list')|first).__class__ }}",
    "{{ ((f for f in messages)).gi_frame.f_globals }}",
    "{{ caller.__closure__ }}",
    "{% set n = namespace(__class__=1) %}{{ n.__class__ }}",
    "{% set n = namespace() %}{% set n.__init__ = 1 %}{{ n }}",
    "{{ dict.mro() }}",
    "{{ namespace.mro() }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os }}",
    "{% extends '/etc/passwd' %}",
]
BOMBS = {
    "{{ 'a'.center(1500000000) }}": "memory",
    "{% set n = namespace(s='a') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}": (
        "memory"
    ),
    "{{ 'x' | replace('x', 'y' * 900000000) }}": "memory",
    "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}": "too_long",
    "{{ range(10 ** 9) | list }}": "failed",
    "{% if 1 %}" * 300 + "{% endif %}" * 300: "too_deep",
    "{{ " + "(" * 50_000 + "1" + ")" * 50_000 + " }}": "too_deep",
    "{{ " + "[" * 5_000 + "]" * 5_000 + " }}": "too_deep",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}": "too_deep",
    "a" * (1024 * 1024 + 1): "too_large",
}
ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"

GO_BOMBS = {
    "quotes that close and open": ('{{ "', '}}""'),
    "quotes that are never closed": ("", '{{\\" }}'),
    "quotes that are never closed in one action": ("{{", '\\"'),
    "other quotes that are never closed": ("", "{{\\' }}"),
    "actions that are never closed": ("", "{{ .A"),
    "a field that never ends": ("{{ ", ".a"),
}
"""Texts of Ollama's language: how each begins, and what follows many times."""


def reading_time(template: str) -> float:
    """Return the least processor time, in seconds, of a few readings."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        fields_of(template)
        times.append(time.thread_time() - began)
    return min(times)


@pytest.mark.parametrize("kind", GO_BOMBS)
def test_a_hostile_go_template_is_read_about_as_fast_as_a_usual_one(kind: str) -> None:
    start, piece = GO_BOMBS[kind]
    length = 24 * 1024
    hostile = (start + piece * length)[: length - 2] + "}}"
    usual = ("{{ .Role }} " * length)[:length]
    assert reading_time(hostile) <= 12 * reading_time(usual)


def test_a_go_template_is_read_up_to_a_limit() -> None:
    filler = " " * (READ_LIMIT - 10)
    assert list(actions_of(f"{{{{ .A }}}}{filler}{{{{ .B }}}}")) == [".A"]


async def test_no_template_reaches_python() -> None:
    marks = ("<class", "<function", "root:", "uid=", "<module", "object at", "environment")
    async with TemplateRenderer() as renderer:
        for template in ESCAPES:
            (text,) = await renderer.render_all(template, [{"messages": [{"role": "user"}]}])
            said = text if isinstance(text, str) else ""
            assert not any(mark in said for mark in marks), (template, text)
        assert await renderer.render("{{ 1 }}", {}) == "1"


async def test_what_takes_too_much_is_refused_with_a_reason() -> None:
    async with TemplateRenderer() as renderer:
        for template, kind in BOMBS.items():
            (text,) = await renderer.render_all(template, [{}])
            assert isinstance(text, Refusal), template[:60]
            assert text.kind == kind, (template[:60], text)
            assert text.error().message.startswith("The chat template was refused: it")
        assert await renderer.render("{{ 1 }}", {}) == "1"


async def test_what_takes_too_long_ends_while_the_program_goes_on() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.lowlevel.checkpoint()
            await anyio.sleep(0.01)
            ticks += 1

    async with TemplateRenderer(render_s=0.3) as renderer, anyio.create_task_group() as group:
        group.start_soon(tick)
        with pytest.raises(AIError, match="takes longer") as refused:
            await renderer.render(ENDLESS, {})
        assert refused.value.code == ErrorCode.TIMEOUT
        assert ticks > 5
        assert await renderer.render("{{ 1 }}", {}) == "1"
        group.cancel_scope.cancel()


async def test_who_stops_waiting_ends_the_process() -> None:
    async with TemplateRenderer() as renderer:
        assert await renderer.render("{{ 1 }}", {}) == "1"
        with anyio.move_on_after(0.05) as stopped:
            await renderer.render(ENDLESS, {})
        assert stopped.cancelled_caught
        assert await renderer.render("{{ 1 }}", {}) == "1"


async def test_one_process_serves_until_it_has_been_idle() -> None:
    async with TemplateRenderer(idle_s=0.05) as renderer:
        assert await renderer.render("{{ 1 }}", {}) == "1"
        first = renderer.process_id
        assert first is not None
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)  # it ends by itself
        assert await renderer.render("{{ 2 }}", {}) == "2"
        assert renderer.process_id != first
    assert renderer.process_id is None


async def test_a_process_that_is_killed_is_replaced() -> None:
    async with TemplateRenderer() as renderer:
        assert await renderer.render("{{ 1 }}", {}) == "1"
        assert renderer.process_id is not None
        os.kill(renderer.process_id, signal.SIGKILL)
        os.waitid(os.P_PID, renderer.process_id, os.WEXITED | os.WNOWAIT)
        assert await renderer.render("{{ 2 }}", {}) == "2"


async def test_a_process_that_ends_for_idling_as_a_job_comes_is_replaced() -> None:
    line = 'input() and print(\'{"results": [{"text": "done"}]}\', flush=True)'
    program = f"print('{{}}', flush=True); {line}; input()"
    async with TemplateRenderer(command=[sys.executable, "-c", program]) as renderer:
        assert [await renderer.render("", {}) for _ in range(2)] == ["done"] * 2


async def test_a_process_that_cannot_start_is_an_error_with_a_next_step() -> None:
    for command in (["/nowhere/python"], [sys.executable, "-c", "pass"]):
        async with TemplateRenderer(command=command) as renderer:
            with pytest.raises(AIError, match="cannot be used") as failed:
                await renderer.render("{{ 1 }}", {})
            assert failed.value.hint is not None


async def test_jobs_from_several_tasks_do_not_mix() -> None:
    texts: dict[int, str] = {}

    async def ask(renderer: TemplateRenderer, number: int) -> None:
        texts[number] = await renderer.render("{{ n }}" * 50, {"n": number})

    async with TemplateRenderer() as renderer, anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(ask, renderer, number)
        await anyio.lowlevel.checkpoint()
        while len(texts) < 20:
            await anyio.sleep(0.005)
    assert texts == {number: str(number) * 50 for number in range(20)}


def test_only_one_module_imports_the_library() -> None:
    users = {path.name for path in PACKAGE.rglob("*.py") if "import jinja2" in path.read_text()}
    assert users == {"child.py"}


WORDS = (
    "{{ }} {% %} {# #} if for in endfor endif set macro endmacro call filter x messages ( ) [ ] "
    "| . ~ 'a' 1 range(9) *99999999 ** tojson loop - recursive __class__ { } : , = namespace() "
    "'a'*9999999 %}{{ }}{% center(999999999)"
)


@pytest.mark.slow
async def test_no_random_template_hangs() -> None:
    chance = chance_for(13)
    async with TemplateRenderer() as renderer:
        for _ in range(500):
            words = chance.choices(WORDS.split(), k=chance.randint(1, 40))
            began = time.monotonic()
            await renderer.render_all(" ".join(words), [{"messages": [{"role": "user"}]}])
            assert time.monotonic() - began < 2.5, words


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_the_process_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody")
    monkeypatch.setenv("LANG", "C.UTF-8")
    async with TemplateRenderer() as renderer:
        assert await renderer.render("hi", {}) == "hi"
        given = Path(f"/proc/{renderer.process_id}/environ").read_bytes()
    assert b"LANG=" in given
    assert b"sk-somebody" not in given
