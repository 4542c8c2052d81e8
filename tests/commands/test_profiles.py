"""/profile, /save and /show chat."""

from dataclasses import dataclass, field

import pytest

from ollm_tui.chat.conversation import Conversation, Preset
from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command, suggest
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import THINKING_LEVELS, GenerationOptions
from tests.commands.recording_host import RecordingHost


@dataclass(frozen=True)
class Saved:
    name: str
    left_out: tuple[str, ...] = ()


@dataclass
class Known:
    presets: dict[str, Preset] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    written: list[tuple[str, bool]] = field(default_factory=list)

    def listed(self) -> dict[str, str]:
        return {name: preset.model or "no model" for name, preset in self.presets.items()}

    async def load(self, name: str) -> Preset:
        if name == "none":
            return Preset()
        if name not in self.presets:
            raise AIError(ErrorCode.BAD_REQUEST, "There is no such profile.", hint="Available: a.")
        return self.presets[name]

    async def save(self, name: str, conversation: Conversation, *, replaces: bool = False) -> Saved:
        self.written.append((name, replaces))
        return Saved(name, self.left_out)


CODING = Preset(
    profile="coding",
    model="local://gemma3:4b",
    system_prompt="Code.",
    options=GenerationOptions(temperature=0.1),
    should_think=THINKING_LEVELS["low"],
    tools=("clock",),
)


def host_with(*presets: Preset, model: str = "local://qwen3:8b") -> tuple[RecordingHost, Known]:
    known = Known({preset.profile or "": preset for preset in presets})
    host = RecordingHost(current=Conversation(model=model), profiles=known)
    return host, known


async def run(host: RecordingHost, text: str) -> list[tuple[str, ...]]:
    host.asked.clear()
    call = parse(text, COMMANDS)
    assert call is not None
    await run_command(call, host)
    return host.asked


async def test_a_profile_is_chosen_by_name() -> None:
    host, _ = host_with(CODING)
    assert await run(host, "/profile coding") == [
        ("set_model", "local://gemma3:4b"),
        ("info", "Profile coding from the next prompt: local://gemma3:4b."),
    ]
    chat = host.current
    assert (chat.profile, chat.system_prompt, chat.tools) == ("coding", "Code.", ("clock",))
    assert (chat.options.temperature, chat.should_think) == (0.1, THINKING_LEVELS["low"])
    await run(host, "/profile default")
    assert host.current == Conversation(model="local://qwen3:8b")


async def test_tools_that_do_not_exist_are_named() -> None:
    host, _ = host_with(Preset(profile="a", tools=("clock",), missing_tools=("shel",)))
    assert (await run(host, "/profile a"))[-1] == (
        "warning",
        "The profile names tools that do not exist: shel.",
    )


async def test_nothing_changes_if_the_profile_or_its_model_is_not_there() -> None:
    host, _ = host_with(Preset(profile="a", model="nowhere", system_prompt="x"))
    assert await run(host, "/profile a") == [("error", "No provider has nowhere. Pull it.")]
    assert await run(host, "/profile b") == [("error", "There is no such profile. Available: a.")]
    assert host.current == Conversation(model="local://qwen3:8b")


async def test_the_command_alone_opens_the_list() -> None:
    assert await run(host_with(CODING)[0], "/profile") == [("show", "profiles")]
    ((kind, said),) = await run(host_with()[0], "/profiles")
    assert (kind, said.startswith("There are no profiles yet. /save NAME")) == ("info", True)


async def test_profiles_are_completed() -> None:
    suggestions = suggest("/profile ", COMMANDS, host_with(CODING)[0])
    assert suggestions is not None
    assert [(one.value, one.help) for one in suggestions.items] == [
        ("coding", "local://gemma3:4b"),
        ("none", "no profile"),
    ]
    assert suggest("/profile ", COMMANDS, host_with()[0]) is None


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("/save mine", ("mine", False)),
        ("/save mine replace", ("mine", True)),
        ("/save two words", ("two words", False)),
        ("/save replace", ("replace", False)),
        ("/save CODING", ("CODING", True)),
    ],
)
async def test_the_settings_of_the_chat_are_saved(typed: str, written: tuple[str, bool]) -> None:
    host, known = host_with(CODING)
    host.current.profile = "coding"
    ((kind, said),) = await run(host, typed)
    assert (kind, known.written) == ("info", [written])
    assert said.startswith(f"Saved the profile {written[0]}.")
    assert host.current.profile == written[0]


async def test_what_was_left_out_is_said_and_a_name_is_needed() -> None:
    host, known = host_with()
    known.left_out = ("response_format", "top_k")
    said = await run(host, "/save a")
    assert said[1] == (
        "warning",
        "A profile cannot hold these settings of the chat: response_format, top_k.",
    )
    assert (await run(host, "/save"))[0][1].startswith("/save NAME saves")
    assert len(known.written) == 1


async def test_the_schema_and_the_model_are_shown_as_people_write_them() -> None:
    host, _ = host_with()
    host.current.schema = {"title": "Person"}
    host.model_addresses = lambda: {"built-in://tiny": True}  # type: ignore[method-assign]
    ((_, said),) = await run(host, "/show chat")
    lines = dict(line.split(None, 1) for line in said.splitlines()[1:])
    assert (lines["model"], lines["schema"]) == ("built-in://tiny", "Person")
    assert "response_format" not in lines
    for value in ("json", "none"):
        assert await run(host, f"/set response_format {value}") == [
            ("error", "Answers match a JSON Schema. /schema off ends that first.")
        ]


async def test_the_chat_says_what_it_uses() -> None:
    host, _ = host_with()
    CODING.apply_to(host.current)
    host.current.system_prompt = "Two\nlines \x1b[31m."
    ((_, said),) = await run(host, "/show chat")
    assert "\x1b" not in said
    assert said.startswith("This chat uses:\n")
    lines = dict(line.split(None, 1) for line in said.splitlines()[1:])
    assert lines == {
        "model": "local://qwen3:8b",
        "profile": "coding",
        "thinking": "low",
        "tools": "clock",
        "temperature": "0.1",
        "system": lines["system"],
    }
    assert lines["system"].startswith("Two lines")
