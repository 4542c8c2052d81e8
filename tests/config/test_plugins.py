"""Packages that bring something are found without importing them, and none ends the program."""

import sys
from pathlib import Path
from threading import Event
from threading import enumerate as enumerate_threads

import anyio
import anyio.to_thread
import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.registry import plugin_commands
from ollm_tui.config.foreign import run_in_daemon_thread
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.plugins import find_plugins, load_plugins, plugin_folder, plugin_names
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.runtime.compose import open_runtime
from ollm_tui.runtime.tools.toolbox import plugin_tools
from tests.commands.recording_host import RecordingHost
from tests.support.plugins import BROKEN, BROKEN_GROUPS, GOOD, GOOD_GROUPS, installed


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages: one in order, and one that cannot be imported."""
    folder = tmp_path / "site"
    installed(monkeypatch, folder, "ollm-good", GOOD, GOOD_GROUPS)
    installed(monkeypatch, folder, "ollm-broken", BROKEN, BROKEN_GROUPS)
    for name in ("ollm_good", "ollm_broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def settings(tmp_path: Path, text: str) -> AppPaths:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    paths.config_dir.mkdir()
    paths.config_file.write_text(text)
    return paths


def test_without_plugins_there_are_none() -> None:
    assert find_plugins("tools") == ()


def test_finding_plugins_imports_none_of_them(site: Path) -> None:
    assert plugin_names("providers") == ("broken", "echo")
    assert [one.title for one in find_plugins("themes")] == ["ollm-broken 1.0", "ollm-good 1.0"]
    good = find_plugins("themes")[1]
    assert plugin_folder(good) == site / "ollm_good"
    assert not {"ollm_good", "ollm_broken"}.intersection(sys.modules)


def test_settings_take_the_kind_of_a_plugin_which_needs_no_address(
    site: Path, tmp_path: Path
) -> None:
    paths = settings(tmp_path, '[providers.mine]\nkind = "echo"\n')
    loaded = load_config(paths, {})
    assert loaded.all_problems == ()
    assert loaded.config.providers["mine"].problem is None
    assert "ollm_good" not in sys.modules, "settings import nothing"


def test_a_kind_that_no_package_brings_is_reported_with_those_there_are(
    site: Path, tmp_path: Path
) -> None:
    loaded = load_config(settings(tmp_path, '[providers.mine]\nkind = "ecco"\n'), {})
    (problem,) = loaded.all_problems
    assert "one of 'ollama', " in str(problem)
    assert "'broken' or 'echo'. Did you mean `echo`?" in str(problem)


def test_a_provider_is_made_of_its_settings(site: Path) -> None:
    adapter = create_provider(ProviderSpec(name="mine", kind="echo", label="My echo"))
    assert (adapter.name, adapter.label) == ("mine", "My echo")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("thing = 1", "provides 'odd', but it is not a provider class."),
        ("class thing: pass", "its class has no method 'chat_stream'."),
        ("from ollm_tui import BaseProvider as thing", "its class has no method 'stream'."),
        ("thing = lambda spec: 1", "did not return a provider for 'mine'."),
        ("def thing(spec): raise KeyError('x')", "could not make 'mine' (KeyError)."),
        ("def thing(spec): raise SystemExit(3)", "could not make 'mine' (SystemExit)."),
        ("raise SystemExit(3)", "could not be loaded (SystemExit)."),
        ("import no_such_library", "loaded (ModuleNotFoundError: no_such_library)."),
        ("", "could not be loaded (AttributeError)."),
        (
            "from ollm_tui import BaseProvider\n"
            "class thing(BaseProvider):\n"
            "    stream = None\n"
            "    def __init__(self, spec): super().__init__('other')",
            "returned a provider with another name or no label for 'mine'.",
        ),
    ],
)
def test_a_provider_that_cannot_be_made_is_one_sentence(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ollm_odd", raising=False)
    installed(
        monkeypatch,
        tmp_path / "odd",
        "ollm-odd",
        {"ollm_odd.py": code},
        {"providers": {"odd": "ollm_odd:thing"}},
    )
    with pytest.raises(AIError) as raised:
        create_provider(ProviderSpec(name="mine", kind="odd"))
    assert reason in raised.value.message
    assert raised.value.message.startswith("The plugin ollm-odd 1.0 ")
    assert raised.value.hint == "Update it, or remove it with `pip uninstall ollm-odd`."
    assert raised.value.provider == "mine"


def test_a_broken_package_leaves_the_tools_of_others(site: Path) -> None:
    tools, problems = plugin_tools()
    assert [tool.schema.name for tool in tools] == ["shout"]
    assert len(problems) == 1
    assert "could not be loaded (RuntimeError)." in problems[0]


def test_a_tool_takes_no_name_of_a_built_in_one_and_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = GOOD["ollm_good/__init__.py"]
    monkeypatch.delitem(sys.modules, "ollm_thief", raising=False)
    code += """
class Odd:
    schema, timeout_s, run = "a text", 5.0, print
    effect = "read"

class Mean(Odd):
    @property
    def effect(self):
        raise KeyError("mean")

class Leaving(Odd):
    @property
    def schema(self):
        raise SystemExit(3)

odd, mean, leaving = Odd(), Mean(), Leaving()

from dataclasses import replace

def renamed(name, **other):
    return replace(shout, schema=replace(shout.schema, name=name), **other)

dotted, digit, every = renamed("my.tool"), renamed("9t"), renamed("ALL")
never, unsendable = renamed("never", timeout_s="soon"), renamed("unsendable")
unsendable.schema.parameters["odd"] = {1, 2}
"""
    entries = {"Read_File": "ollm_thief:shout", "other": "ollm_thief:shout", "x": "ollm_thief:Echo"}
    entries |= {"odd": "ollm_thief:odd", "mean": "ollm_thief:mean", "exit": "ollm_thief:leaving"}
    entries |= {"my.tool": "ollm_thief:dotted", "9t": "ollm_thief:digit", "ALL": "ollm_thief:every"}
    entries |= {"never": "ollm_thief:never", "unsendable": "ollm_thief:unsendable"}
    files, groups = {"ollm_thief.py": code}, {"tools": entries}
    installed(monkeypatch, tmp_path / "thief", "ollm-thief", files, groups)
    tools, problems = plugin_tools()
    assert tools == []
    text = "\n".join(problems)
    assert "provides 'Read_File', but that name is already taken." in text
    assert "names its tool 'shout', but its entry point 'other'." in text
    assert "provides 'x', but it is not a tool." in text
    assert "provides 'odd', whose schema is not a ToolSchema." in text
    assert "cannot be used (KeyError)." in text
    assert "cannot be used (SystemExit)." in text
    assert "cannot be used (TypeError)." in text, "a schema that is no JSON"
    for name in ("my.tool", "9t", "ALL"):
        assert f"provides '{name}', which cannot name a tool: use 1 to 64 letters" in text
    assert "provides 'never', whose timeout or description is unusable." in text
    assert len(problems) == len(entries)


async def test_a_command_of_a_plugin_runs_and_its_failure_is_a_sentence(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    commands, problems = plugin_commands(COMMANDS)
    (hello,) = commands
    assert (hello.signature, hello.help) == ("/hello NAME", "Greet somebody.")
    assert len(problems) == 1
    host = RecordingHost()
    await hello.run(host, "Anna")
    assert host.asked == [("info", "Hello, Anna!")]
    with pytest.raises(AIError, match=r"/hello failed \(KeyError\)"):
        await hello.run(host, "nobody")
    assert "Traceback" in caplog.text


def test_the_second_of_two_packages_with_one_name_is_reported(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(
        monkeypatch,
        tmp_path / "more",
        "ollm-more",
        {"ollm_more.py": "from ollm_good import shout"},
        {"tools": {"shout": "ollm_more:shout"}},
    )
    packages: list[str] = []
    problems = load_plugins("tools", object, lambda plugin, _: packages.append(plugin.package))
    assert packages == ["ollm-good"]
    assert any("ollm-more" in one and "taken" in one for one in problems)


def test_damaged_metadata_hides_nothing_else(site: Path, tmp_path: Path) -> None:
    site.joinpath("bad-1.dist-info").mkdir()
    site.joinpath("bad-1.dist-info/entry_points.txt").write_text(
        "[ollm_tui.tools]\nbad name! = x\nother = not a module\n"
    )
    names = plugin_names("tools")
    assert {"shout", "broken"} <= set(names)
    assert "bad name!" not in names
    (problem,) = [one for one in plugin_tools()[1] if "unnamed" in one]
    assert "The plugin (unnamed package) could not be loaded" in problem
    assert problem.endswith("Remove the package with the entry point `other` of `ollm_tui.tools`.")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('@command("hi", aliases=None)', "(the aliases of a command must be a tuple of names)."),
        ('@command("hi", aliases="hey")', "(the aliases of a command must be a tuple of names)."),
        ('@command("two words")', "(the name of a command has 1 to 64 characters, and no space"),
        ('@command("hi", aliases=("a b",))', "(the name of a command has 1 to 64 characters"),
        ('@command("hi", aliases=("HELP",))', "with the alias 'HELP', but that name is already"),
        ('@command("hey")', "names its command 'hey', but its entry point 'hi'."),
        ('@lambda run: Command("hi", None, "", "Hi.", run)', "whose name, aliases or help"),
        ('@lambda run: Command("hi", (5,), "", "Hi.", run)', "one of whose aliases cannot be"),
        ("@tool(effect='odd')", "('odd' is not an effect; use one of"),
        ("@tool(effect='read', name='all')", "(tool all: the name all stands for every tool)."),
    ],
)
def test_a_command_that_cannot_be_typed_is_one_sentence(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ollm_odd", raising=False)
    text = (
        f"from ollm_tui import Command, command, tool\n"
        f'{code}\nasync def hi(context, argument):\n    "Say hi."\n'
    )
    groups = {"commands": {"hi": "ollm_odd:hi"}}
    installed(monkeypatch, tmp_path / "odd", "ollm-odd", {"ollm_odd.py": text}, groups)
    commands, (problem,) = plugin_commands(COMMANDS)
    assert commands == ()
    assert reason in problem


async def test_a_command_that_exits_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ollm_exit", raising=False)
    text = (
        "import sys\nfrom ollm_tui import command\n"
        "def exit(*_): sys.exit(3)\n"
        "@command('leave', complete=exit)\n"
        "async def leave(context, argument):\n    'Leave.'\n    sys.exit(3)\n"
    )
    groups = {"commands": {"leave": "ollm_exit:leave"}}
    installed(monkeypatch, tmp_path / "exit", "ollm-exit", {"ollm_exit.py": text}, groups)
    (leave,), _ = plugin_commands(COMMANDS)
    host = RecordingHost()
    assert leave.complete(host, "") == ()
    with pytest.raises(AIError, match=r"/leave failed \(SystemExit\)"):
        await leave.run(host, "")


def test_the_key_of_a_provider_is_in_no_sentence_of_its_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ollm_tells", raising=False)
    text = (
        "from ollm_tui import AIError\n"
        "def value(spec): raise ValueError(f'bad key {spec.api_key}')\n"
        "def own(spec):\n"
        "    raise AIError(401, f'Bad key {spec.api_key}.', hint=spec.headers['X-Key'])\n"
    )
    groups = {"providers": {"value": "ollm_tells:value", "own": "ollm_tells:own"}}
    installed(monkeypatch, tmp_path / "tells", "ollm-tells", {"ollm_tells.py": text}, groups)
    headers = {"X-Key": "hunter2-and-more-of-it"}
    for kind, reason in (
        ("value", "could not make 'mine' (ValueError)."),
        ("own", "Bad key «key»."),
    ):
        spec = ProviderSpec(name="mine", kind=kind, api_key="sk-canary-0123456", headers=headers)
        with pytest.raises(AIError) as raised:
            create_provider(spec)
        assert reason in str(raised.value)
        assert "canary" not in str(raised.value)
        assert "hunter2" not in str(raised.value)


def test_what_a_plugin_prints_while_it_is_imported_is_not_on_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "ollm_loud", raising=False)
    text = "from ollm_good import shout\nprint('Welcome!')\n"
    installed(monkeypatch, tmp_path / "good", "ollm-good", GOOD, {})
    groups = {"tools": {"shout": "ollm_loud:shout"}}
    installed(monkeypatch, tmp_path / "loud", "ollm-loud", {"ollm_loud.py": text}, groups)
    assert plugin_tools()[1] == []
    assert capsys.readouterr() == ("", "Welcome!\n")


async def test_a_caller_that_stops_waiting_leaves_a_slow_import_behind() -> None:
    begun, gate = Event(), Event()

    def slow() -> int:
        begun.set()
        gate.wait(30)
        return 5

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(run_in_daemon_thread, slow)
            await anyio.to_thread.run_sync(begun.wait)
            group.cancel_scope.cancel()
        assert not gate.is_set(), "nobody waited for it"
        (thread,) = [one for one in enumerate_threads() if one.name == "plugins"]
        assert thread.daemon
        gate.set()
        await anyio.to_thread.run_sync(thread.join)
        assert await run_in_daemon_thread(lambda: 5) == 5
        with pytest.raises(ZeroDivisionError):
            await run_in_daemon_thread(lambda: 1 // 0)


async def test_what_begins_no_chat_imports_no_tool(site: Path, tmp_path: Path) -> None:
    paths = settings(tmp_path, "")
    loaded = load_config(paths, {}).without_saving()
    async with open_runtime(loaded, paths, imports_tools=False) as runtime:
        assert "ollm_good" not in sys.modules
        assert runtime.problems == ()
    async with open_runtime(loaded, paths) as runtime:
        assert "ollm_good" in sys.modules
        assert runtime.plugin_problems


async def test_nothing_of_a_package_is_imported_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ollm_slow", raising=False)
    code = "from threading import current_thread\nthread = current_thread().name\n"
    code += GOOD["ollm_good/__init__.py"]
    groups = {"providers": {"slow": "ollm_slow:Echo"}}
    installed(monkeypatch, tmp_path / "slow", "ollm-slow", {"ollm_slow.py": code}, groups)
    paths = settings(tmp_path, '[providers.mine]\nkind = "slow"\n')
    async with open_runtime(load_config(paths, {}).without_saving(), paths) as runtime:
        assert runtime.registry.get("mine") is not None
        assert sys.modules["ollm_slow"].thread == "plugins"
