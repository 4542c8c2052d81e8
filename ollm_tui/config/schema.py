"""Every setting: its type, its default, and what it means in one sentence.

The example file, `ollm config schema` and the reference page are made from these types.
"""

from typing import Annotated, Literal, TypeAlias

from ollm_tui.config.backends import BUILT_IN_ALIASES, BUILT_IN_PROVIDERS
from ollm_tui.config.early import DEFAULT_THEME
from ollm_tui.config.engine_settings import EngineSettings
from ollm_tui.config.provider_settings import HubSettings, ModelSettings, ProviderSettings
from ollm_tui.config.tables.extra_settings import (
    DownloadSettings,
    SearchSettings,
    ShellSettings,
    SoundSettings,
    ToolSettings,
)
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.config.values import (
    MAX_WINDOW,
    FilePath,
    Fraction,
    Idle,
    KeepAlive,
    NoSwitch,
    Penalty,
    Seconds,
    Strength,
    Text,
    TokenCount,
    check_unreserved,
)
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.request import GenerationOptions, ThinkingLevel
from ollm_tui.sections.marks import Bounds, Check
from ollm_tui.sections.reading import read_plain
from ollm_tui.sections.section import Section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class UiSettings(Section):
    """How the screen looks and behaves."""

    show_thinking: bool = setting(
        True,
        description="Show a model's thinking while it streams; it folds when the answer starts.",
    )
    maths: bool = setting(
        True, description="Show formulas in LaTeX, such as `$x^2$`, as Unicode: x²."
    )
    show_stats: bool = setting(
        True,
        description="Show a line of figures after each answer: tokens, speed, the window, memory.",
    )
    pictures: Literal["auto", "kitty", "iterm", "sixel", "blocks", "off"] = setting(
        "auto",
        description="How pictures are drawn: `kitty` by the protocol of kitty and Ghostty, "
        "`iterm` by that of iTerm2, `sixel` by that of older terminals, `blocks` with half blocks, "
        "`auto` by the best of these that the terminal supports; `off` shows a line of text.",
    )
    times: bool = setting(False, description="Show when each message of a saved chat was written.")
    mouse: bool = setting(True, description="Enable the mouse: clicks, wheel and selection.")
    animations: bool = setting(
        True, description="Animate the screen; turn off for reduced motion or slow terminals."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings(Section):
    """What every chat starts with; a key that is not set is left to the server."""

    temperature: Strength | None = setting(
        None, examples=[0.7], description="Randomness: 0 picks the likeliest token, 1 is creative."
    )
    max_tokens: TokenCount | None = setting(
        None, examples=[2048], description="Maximum length of an answer, in tokens."
    )
    top_p: Fraction | None = setting(
        None,
        examples=[0.95],
        description="Sample from the likeliest tokens that make up this probability.",
    )
    top_k: Annotated[int, Bounds(ge=0, le=1_000_000), NoSwitch] | None = setting(
        None, examples=[40], description="Sample from this many likeliest tokens."
    )
    min_p: Fraction | None = setting(
        None,
        examples=[0.05],
        description="Leave out tokens whose probability is below this share of the likeliest "
        "one's.",
    )
    repeat_penalty: Strength | None = setting(
        None, examples=[1.1], description="Make repetition less likely; 1 is off."
    )
    presence_penalty: Penalty | None = setting(
        None, examples=[1.5], description="Favour tokens that the text does not have yet; 0 is off."
    )
    frequency_penalty: Penalty | None = setting(
        None,
        examples=[0.5],
        description="Make a token less likely each time it is repeated; 0 is off.",
    )
    seed: Annotated[int, Bounds(ge=-(2**63), lt=2**63), NoSwitch] | None = setting(
        None, examples=[42], description="The same seed gives the same answer again."
    )
    stop: list[Text] | None = setting(
        None, examples=[["</answer>"]], description="Texts that end the answer (stop sequences)."
    )
    num_ctx: TokenCount | None = setting(
        None, examples=[8192], description="Context window to load a model with, in tokens."
    )
    keep_alive: KeepAlive | None = setting(
        None,
        examples=["5m"],
        description="How long Ollama or the built-in engine keeps a model loaded after a request: "
        'seconds, "5m" or "forever".',
    )
    extra_body: Annotated[dict[str, JsonValue], Check(check_unreserved)] | None = setting(
        None,
        examples=[{"logprobs": True}],
        description="Extra keys for the request body, sent as they are.",
    )

    def to_options(self) -> GenerationOptions:
        """Give the options of a request."""
        values = {name: getattr(self, name) for name in self.given}
        stop = values.pop("stop", None)
        return GenerationOptions(**values, stop=tuple(stop) if stop else None)


TemplateFormat: TypeAlias = Literal["hf", "jinja2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSettings(Section):
    """A preset for chats: `[profiles.NAME]`. A key that is not set is as in the other settings."""

    model: Text | None = setting(
        None, examples=["local://qwen3:8b"], description="Model that answers."
    )
    system_prompt: str | None = setting(
        None, examples=["Answer briefly."], description="System prompt; an empty text is none."
    )
    system_prompt_format: TemplateFormat | None = setting(
        None,
        examples=["jinja2"],
        description="Template language of `system_prompt`: `jinja2`, or `hf` for the same; if not "
        "set, it is plain text.",
    )
    thinking: ThinkingLevel | None = setting(
        None, examples=["low"], description="How much the model thinks."
    )
    tools: list[Text] | None = setting(
        None, examples=[["read_file"]], description="Tools that are offered, by name; [] is none."
    )
    schema_file: FilePath | None = setting(
        None,
        key="schema",
        examples=["~/person.json"],
        description="File with the JSON Schema that answers must match; if not set, the chat keeps "
        "its own.",
    )
    options: GenerationSettings = setting(
        GenerationSettings,
        examples=[{"temperature": 0.2}],
        description="Generation options: the keys of [options].",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultModels(Section):
    """The models of the commands beside the chat; without one, the only model that can is used."""

    embedding: Text | None = setting(
        None,
        examples=["ollama://nomic-embed-text"],
        description="Model of `ollm embed` and of `similar` below [search]: a name, or "
        "provider://name.",
    )
    speech: Text | None = setting(
        None, examples=["openai://gpt-4o-mini-tts"], description="Model of `ollm speak`."
    )
    transcription: Text | None = setting(
        None, examples=["localai://whisper-1"], description="Model of `ollm transcribe`."
    )
    picture: Text | None = setting(
        None, examples=["localai://stablediffusion"], description="Model of `ollm draw`."
    )
    video: Text | None = setting(
        None, examples=["localai://wan2.2"], description="Model of `ollm video`."
    )
    music: Text | None = setting(
        None, examples=["localai://ace-step"], description="Model of `ollm music`."
    )
    infill: Text | None = setting(
        None, examples=["ollama://qwen2.5-coder"], description="Model of `ollm infill`."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedConfig(EngineSettings):
    """The engine that runs model files in this app's own child process."""

    idle_unload_s: Idle = setting(
        300, description="Idle seconds before a model is unloaded; 0 keeps it loaded."
    )
    state_mb: Annotated[int, Bounds(ge=0, le=1_000_000), NoSwitch] = setting(
        2048,
        description="Disk space for the prompt caches (KV caches) of saved chats whose models were "
        "unloaded, in MB; 0 keeps none.",
    )
    context: Annotated[int, Bounds(ge=256, le=MAX_WINDOW), NoSwitch] = setting(
        4096, description="Context window to load models with, in tokens; at most the model's own."
    )
    model_folders: list[FilePath] = setting(
        [],
        examples=[["~/models"]],
        description="Folders that are searched for GGUF files, in addition to the models folder.",
    )
    server: FilePath | Literal["none"] | None = setting(
        None,
        examples=["~/llama.cpp/build/bin/llama-server"],
        description="The `llama-server` that runs model files instead of the installed package; "
        'if not set, the one on PATH, if any; "none" uses the package only.',
    )
    espeak: FilePath | Literal["none"] | None = setting(
        None,
        examples=["~/.local/bin/espeak-ng"],
        description="The program `espeak-ng`, which speaks, and pronounces words for voices; if "
        'not set, the one on PATH, if any; "none" uses none.',
    )
    other_folders: list[Literal["lmstudio", "huggingface", "llamacpp"]] = setting(
        [],
        examples=[["lmstudio", "huggingface"]],
        description="Other programs whose model folders are searched too; files there are never "
        "changed.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings(Section):
    """How far one prompt may go before you are asked."""

    max_turns: Annotated[int, Bounds(ge=1, le=100), NoSwitch] = setting(
        10, description="Maximum number of requests for one prompt, with tools."
    )
    calls_per_turn: Annotated[int, Bounds(ge=1, le=1000), NoSwitch] = setting(
        64, description="Maximum number of tool calls in one turn."
    )
    prompt_timeout_s: Seconds | None = setting(
        1800, description="Time limit for one prompt with all its tools, in seconds."
    )
    save: bool = setting(True, description="Save chats, so that Ctrl+R and `ollm -c` find them.")
    memory: bool = setting(
        False,
        description="Add the notes of /memory to the system prompt of new chats that are saved.",
    )
    titles: bool = setting(
        True,
        description="Have the model of a saved chat write its title in the background after the "
        "first answer, unless the model is slow.",
    )
    make_room: Literal["off", "summarise", "leave-out"] = setting(
        "off",
        description="What happens automatically when a prompt nears the end of the context window: "
        "`summarise` has the model summarise the older messages, `leave-out` no longer sends them. "
        "The chat keeps them.",
    )


def _built_in() -> dict[str, ProviderSettings]:
    return {
        name: read_plain(ProviderSettings, dict(values)).changed(preset=True)
        for name, values in BUILT_IN_PROVIDERS.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AppConfig(Section):
    """All settings, resolved."""

    theme: Text = setting(DEFAULT_THEME, description="Name of a colour theme.")
    screen_reader: bool = setting(
        False, description="Write the chat as lines for a screen reader instead of a full screen."
    )
    model: Text | None = setting(
        None,
        examples=["local://qwen3:8b"],
        description="Model to start with: a name, or provider://name; if not set, the last one "
        "used.",
    )
    provider: str | None = setting(
        None, examples=["local"], description="Default provider; --host and --api-key apply to it."
    )
    system_prompt: str | None = setting(
        None, examples=["Answer briefly."], description="The system prompt of every new chat."
    )
    system_prompt_format: TemplateFormat | None = setting(
        None,
        examples=["jinja2"],
        description="Template language of `system_prompt`: `jinja2`, or `hf` for the same; if not "
        "set, it is plain text.",
    )
    thinking: ThinkingLevel | None = setting(
        None,
        examples=["low"],
        description="How much models think in a new chat; if not set, the model decides.",
    )
    profile: Text | None = setting(
        None, examples=["coding"], description="Profile of new chats; `none` for no profile."
    )
    ui: UiSettings = setting(UiSettings, description="The screen: what it shows and how it moves.")
    keymap: dict[str, str] = setting(
        {},
        examples=[{"chat.models": "f4"}],
        description="Key bindings by the id of the action; the reference of keys lists the ids.",
    )
    options: GenerationSettings = setting(
        GenerationSettings, description="Generation options for every chat."
    )
    defaults: DefaultModels = setting(
        DefaultModels,
        description="Default models of commands other than the chat, such as `ollm embed`.",
    )
    embedded: EmbeddedConfig = setting(
        EmbeddedConfig, description="The engine that runs model files in a child process."
    )
    tools: ToolSettings = setting(
        ToolSettings, description="Tools that models may call; none by default."
    )
    chat: ChatSettings = setting(
        ChatSettings, description="Limits for one prompt, and whether chats are saved."
    )
    shell: ShellSettings = setting(ShellSettings, description="Commands that you run with `!`.")
    hub: HubSettings = setting(
        HubSettings, description="The hub for searching and downloading model files."
    )
    search: SearchSettings = setting(SearchSettings, description="The search in all saved chats.")
    sound: SoundSettings = setting(
        SoundSettings, description="Recording for /dictate, and playing for /speak."
    )
    downloads: DownloadSettings = setting(DownloadSettings, description="The download queue.")
    mcp_servers: dict[str, McpServerSettings] = setting(
        {}, description="Servers of the Model Context Protocol whose tools are offered, by name."
    )
    profiles: dict[str, ProfileSettings] = setting(
        {}, description="Profiles: presets for chats, by name."
    )
    models: dict[str, ModelSettings] = setting(
        {}, description="Settings of single models, by address or name."
    )
    aliases: dict[str, str] = setting(
        dict(BUILT_IN_ALIASES),
        examples=[{"ollama": "local"}],
        description="Aliases of providers: each alias with its provider.",
    )
    providers: dict[str, ProviderSettings] = setting(
        make_default=_built_in, description="Providers, by name."
    )
