"""Every program of the guide to the library runs as it stands there, and prints what it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ollm_tui
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import Received, Reply, in_thread
from tests.support.isolation import guarded_path
from tests.support.plugins import write_package

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "library.md").read_text("utf-8")
BLOCK = re.compile(r"^( *)```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
BLOCKS = [re.sub(f"^{indent}", "", text, flags=re.M) for indent, text in BLOCK.findall(GUIDE)]
PROGRAMS = [text for text in BLOCKS if "asyncio.run" in text]
PRINTED = (
    "Hello, world!\n",
    "ollama://tiny stop Hello, world!\n400 There is no provider named 'nowhere'.\n",
    "Hello, world!\nended: stop\n",
    "Hello, world!\n",
    "['stop']\n['stop']\nuser Say hello.\nassistant Hello, world!\n"
    "user Once more.\nassistant Hello, world!\n['ollama://tiny:latest', 'ollama://thinker:latest']\n",
    "['stop']\n['stop']\n['stop']\nleft_out 4\n7\n",
    "['stop']\nIs 26 October a holiday in Austria?\n",
    "Hello, world! ['Hello, world!', 'Hello, world!']\n",
    "It is sunny in Oslo.\n",
    "May it run? note {'text': 'buy milk'}\nNoted: buy milk\n",
    "called once, before the first use\nGood morning \ncalled once, at the end\n",
)
CALLS = {"weather": {"city": "Oslo"}, "note": {"text": "buy milk"}}


async def server(request: Received, reply: Reply) -> None:
    """Answer like Ollama; call the tool that is on offer, and repeat what it gave.

    An answer in a format is the same in JSON.
    """
    asked = request.json() if request.path == "/api/chat" else {}
    tools, messages = asked.get("tools"), asked.get("messages")
    if isinstance(asked.get("format"), dict):
        await _say(reply, {"content": json.dumps({"greeting": "Hello, world!"})})
        return
    if not tools or not isinstance(tools, list) or not isinstance(messages, list):
        await fake_ollama(request, reply)
        return
    message: dict[str, object] = {"content": ""}
    if messages[-1]["role"] == "tool":
        message["content"] = messages[-1]["content"]
    else:
        name = tools[0]["function"]["name"]
        message["tool_calls"] = [{"function": {"name": name, "arguments": CALLS[name]}}]
    await _say(reply, message)


async def _say(reply: Reply, message: dict[str, object]) -> None:
    whole = {"role": "assistant", **message}
    answer = {"model": "tiny:latest", "message": whole, "done": True, "done_reason": "stop"}
    body = json.dumps(answer).encode() + b"\n"
    await reply.whole(body, content_type="application/x-ndjson")


def run(program: str, url: str, folder: Path, *, site: Path | None = None) -> str:
    """Run a program as a person does, and give what it printed."""
    file = folder / "program.py"
    file.write_text(program, "utf-8")
    places = (ROOT, site) if site else (ROOT,)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        cwd=folder,
        env={**os.environ, "OLLAMA_HOST": url, "PYTHONPATH": guarded_path(*places)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_prints_what_the_guide_says(number: int, tmp_path: Path) -> None:
    with in_thread(server) as running:
        assert run(PROGRAMS[number], running.url, tmp_path) == PRINTED[number]


def lines_of(program: str) -> int:
    return len([line for line in program.splitlines() if line.strip()])


def test_the_first_programs_are_short() -> None:
    assert len(PROGRAMS) == len(PRINTED)
    assert lines_of(PROGRAMS[0]) <= 6
    assert lines_of(next(one for one in PROGRAMS if "def weather" in one)) <= 10
    modules = {line.split()[1] for text in BLOCKS for line in text.splitlines() if "import" in line}
    assert modules == {"asyncio", "ollm_tui"}, "one module gives all that is needed"


def test_the_plugin_of_the_guide_works(tmp_path: Path) -> None:
    """The entry points as they stand there, and the pieces of the page behind them."""
    _, _, after = GUIDE.partition('[project.entry-points."ollm_tui.providers"]\n')
    text = '[project.entry-points."ollm_tui.providers"]\n' + after.partition("```")[0]
    groups: dict[str, dict[str, str]] = {}
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            group = groups[line.split(".")[-1].rstrip('"]')] = {}
        else:
            name, _, value = line.partition(" = ")
            group[name] = value.strip('"')
    assert set(groups) == {"providers", "tools", "commands", "themes"}
    echo = next(text for text in PROGRAMS if "class Echo" in text).partition("async def main")[0]
    note = next(text for text in PROGRAMS if "@tool" in text).partition("class AskFirst")[0]
    hello = next(text for text in BLOCKS if "@command" in text)
    code = f"{echo}\n{note.replace('def note', 'def weather')}\n{hello}"
    theme = (ROOT / "themes" / "paper.toml").read_text("utf-8")
    site = tmp_path / "site"
    files = {"ollm_echo/__init__.py": code, "ollm_echo/nord.toml": theme}
    write_package(site, "ollm-echo", files, groups)
    settings = "\n".join(re.findall(r"^  (\[providers\.parrots\]|kind = .*)$", GUIDE, re.MULTILINE))
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "ollm" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"{settings}\n[tools]\nenabled = ['weather']\n", "utf-8")
    program = PROGRAMS[0].replace('Austria."', 'Austria.", model="parrots://parrot"')
    printed = run(program, "http://127.0.0.1:9", tmp_path, site=site)
    assert "Name three rivers in Austria." in printed
    doctor = "import sys\nfrom ollm_tui.cli import main\nmain(['doctor'])\n"
    report = run(doctor, "http://127.0.0.1:9", tmp_path, site=site)
    assert "ok ollm-echo 1.0: provider kind echo, tool weather, command /hello, theme" in report


def test_every_public_name_is_in_the_guide() -> None:
    shown = set(re.findall(r"`(\w+)`", GUIDE.partition("## Versions")[2]))
    names = set(ollm_tui.__all__) - {"__version__"}
    assert names - shown == set()
