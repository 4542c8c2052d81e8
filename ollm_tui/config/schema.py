"""Every setting: its type, its default, and what it means in one sentence.

The example file, `ollm config schema` and the reference page are made from these types.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue, field_validator

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
    LARGEST_WINDOW,
    FilePath,
    HowLong,
    Idle,
    NoSwitch,
    Penalty,
    Seconds,
    SettingsSection,
    Share,
    Strength,
    Text,
    TokenCount,
    Whole,
    unreserved,
)
from ollm_tui.protocol.request import GenerationOptions, ThinkingLevel


class UiSettings(SettingsSection):
    """How the screen looks and behaves."""

    show_thinking: bool = Field(
        True,
        description="Show a model's thinking while it streams; it folds when the answer starts.",
    )
    maths: bool = Field(
        True, description="Show formulas in LaTeX, such as `$x^2$`, as Unicode: x²."
    )
    show_stats: bool = Field(
        True,
        description="Show a line of figures after each answer: tokens, speed, the window, memory.",
    )
    pictures: Literal["auto", "kitty", "iterm", "sixel", "blocks", "off"] = Field(
        "auto",
        description="How pictures are drawn: `kitty` by the protocol of kitty and Ghostty, "
        "`iterm` by that of iTerm2, `sixel` by that of older terminals, `blocks` with half blocks, "
        "`auto` as the terminal can; `off` shows a line of text.",
    )
    times: bool = Field(False, description="Show when each message of a saved chat was written.")
    mouse: bool = Field(True, description="Enable the mouse: clicks, wheel and selection.")
    animations: bool = Field(
        True, description="Animate the screen; turn off for reduced motion or slow terminals."
    )


class GenerationSettings(SettingsSection):
    """What every chat starts with; a key that is not set is left to the server."""

    temperature: Strength | None = Field(
        None, examples=[0.7], description="Randomness: 0 picks the likeliest token, 1 is creative."
    )
    max_tokens: TokenCount | None = Field(
        None, examples=[2048], description="Maximum length of an answer, in tokens."
    )
    top_p: Share | None = Field(
        None,
        examples=[0.95],
        description="Sample from the likeliest tokens that make up this probability.",
    )
    top_k: Annotated[int, Field(ge=0, le=1_000_000), NoSwitch] | None = Field(
        None, examples=[40], description="Sample from this many likeliest tokens."
    )
    min_p: Share | None = Field(
        None, examples=[0.05], description="Leave out tokens below this share of the likeliest one."
    )
    repeat_penalty: Strength | None = Field(
        None, examples=[1.1], description="Make repetition less likely; 1 is off."
    )
    presence_penalty: Penalty | None = Field(
        None, examples=[1.5], description="Favour tokens that the text does not have yet; 0 is off."
    )
    frequency_penalty: Penalty | None = Field(
        None,
        examples=[0.5],
        description="Make a token less likely each time it is repeated; 0 is off.",
    )
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63), NoSwitch] | None = Field(
        None, examples=[42], description="The same seed gives the same answer again."
    )
    stop: list[Text] | None = Field(
        None, examples=[["</answer>"]], description="Texts that end the answer (stop sequences)."
    )
    num_ctx: TokenCount | None = Field(
        None, examples=[8192], description="Context window to load a model with, in tokens."
    )
    keep_alive: HowLong | None = Field(
        None,
        examples=["5m"],
        description="How long Ollama or the built-in engine keeps a model: seconds, "
        '"5m" or "forever".',
    )
    extra_body: dict[str, JsonValue] | None = Field(
        None,
        examples=[{"logprobs": True}],
        description="Extra keys for the request body, sent as they are.",
    )

    @field_validator("extra_body")
    @classmethod
    def _reserved(cls, body: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        return None if body is None else unreserved(body)

    def to_options(self) -> GenerationOptions:
        """Give the options of a request."""
        values = self.model_dump(exclude_none=True)
        stop = values.pop("stop", None)
        return GenerationOptions(**values, stop=tuple(stop) if stop else None)


TemplateFormat: TypeAlias = Literal["hf", "jinja2"]


class ProfileSettings(SettingsSection, serialize_by_alias=True):
    """A preset for chats: `[profiles.NAME]`. A key that is not set is as in the other settings."""

    model: Text | None = Field(
        None, examples=["local://qwen3:8b"], description="Model that answers."
    )
    system_prompt: str | None = Field(
        None, examples=["Answer briefly."], description="System prompt; an empty text is none."
    )
    system_prompt_format: TemplateFormat | None = Field(
        None,
        examples=["jinja2"],
        description="Language in which `system_prompt` is a template: `jinja2`, or `hf` for the "
        "same; not set is plain text.",
    )
    thinking: ThinkingLevel | None = Field(
        None, examples=["low"], description="How much the model thinks."
    )
    tools: list[Text] | None = Field(
        None, examples=[["read_file"]], description="Tools that are offered, by name; [] is none."
    )
    schema_file: FilePath | None = Field(
        None,
        alias="schema",
        examples=["~/person.json"],
        description="File with the JSON Schema that answers must match; not set keeps the one of "
        "the chat.",
    )
    options: GenerationSettings = Field(
        GenerationSettings(),
        examples=[{"temperature": 0.2}],
        description="Generation options: the keys of [options].",
    )


class DefaultModels(SettingsSection):
    """The models of the commands beside the chat; without one, the only model that can is used."""

    embedding: Text | None = Field(
        None,
        examples=["ollama://nomic-embed-text"],
        description="Model of `ollm embed` and of [search] similar: a name, or provider://name.",
    )
    speech: Text | None = Field(
        None, examples=["openai://gpt-4o-mini-tts"], description="Model of `ollm speak`."
    )
    transcription: Text | None = Field(
        None, examples=["localai://whisper-1"], description="Model of `ollm transcribe`."
    )
    picture: Text | None = Field(
        None, examples=["localai://stablediffusion"], description="Model of `ollm draw`."
    )
    video: Text | None = Field(
        None, examples=["localai://wan2.2"], description="Model of `ollm video`."
    )
    music: Text | None = Field(
        None, examples=["localai://ace-step"], description="Model of `ollm music`."
    )
    infill: Text | None = Field(
        None, examples=["ollama://qwen2.5-coder"], description="Model of `ollm infill`."
    )


class EmbeddedConfig(EngineSettings):
    """The engine that runs model files in this app's own child process."""

    idle_unload_s: Idle = Field(
        300, description="Idle seconds before a model is unloaded; 0 keeps it loaded."
    )
    state_mb: Annotated[int, Field(ge=0, le=1_000_000), NoSwitch] = Field(
        2048,
        description="Disk space for what unloaded models have read of saved chats, in MB; 0 keeps "
        "nothing.",
    )
    context: Annotated[int, Field(ge=256, le=LARGEST_WINDOW), NoSwitch] = Field(
        4096, description="Context window of a loaded model, in tokens, at most its own."
    )
    model_folders: list[FilePath] = Field(
        [],
        examples=[["~/models"]],
        description="Folders searched for GGUF files beside the app's own models folder.",
    )
    server: FilePath | Literal["none"] | None = Field(
        None,
        examples=["~/llama.cpp/build/bin/llama-server"],
        description="The `llama-server` that runs model files instead of the installed package; "
        'not set is the one on PATH, if any; "none" is the package only.',
    )
    espeak: FilePath | Literal["none"] | None = Field(
        None,
        examples=["~/.local/bin/espeak-ng"],
        description="The program `espeak-ng`, which speaks, and pronounces words for voices; not "
        'set is the one on PATH, if any; "none" is to do without it.',
    )
    other_folders: list[Literal["lmstudio", "huggingface", "llamacpp"]] = Field(
        [],
        examples=[["lmstudio", "huggingface"]],
        description="Other programs whose folders of model files are searched too, only reading.",
    )


class ChatSettings(SettingsSection):
    """How far one prompt may go before you are asked."""

    max_turns: Whole = Field(
        10, ge=1, le=100, description="Maximum number of requests for one prompt, with tools."
    )
    calls_per_turn: Whole = Field(
        64, ge=1, le=1000, description="Maximum number of tool calls in one turn."
    )
    prompt_timeout_s: Seconds | None = Field(
        1800, description="Time limit for one prompt with all its tools, in seconds."
    )
    save: bool = Field(True, description="Save chats, so that Ctrl+R and `ollm -c` find them.")
    memory: bool = Field(
        False,
        description="Put the notes of /memory into the system prompt of new chats that are saved.",
    )
    titles: bool = Field(
        True,
        description="Have the model of a saved chat make its title after the first answer, in the "
        "background; not if the model is slow.",
    )
    make_room: Literal["off", "summarise", "leave-out"] = Field(
        "off",
        description="What happens by itself when a prompt nears the end of the context window: "
        "`summarise` has the model summarise the older messages, `leave-out` no longer sends them. "
        "The chat keeps them.",
    )


def _built_in() -> dict[str, ProviderSettings]:
    return {
        name: ProviderSettings.model_validate(dict(values)).marked(problem=None, preset=True)
        for name, values in BUILT_IN_PROVIDERS.items()
    }


class AppConfig(SettingsSection):
    """All settings, resolved."""

    theme: str = Field(DEFAULT_THEME, min_length=1, description="Name of a colour theme.")
    screen_reader: bool = Field(
        False, description="Write the chat in lines that a screen reader reads, without a screen."
    )
    model: Text | None = Field(
        None,
        examples=["local://qwen3:8b"],
        description="Model to start with: a name, or provider://name; not set is the last used.",
    )
    provider: str | None = Field(
        None, examples=["local"], description="Default provider; --host and --api-key apply to it."
    )
    system_prompt: str | None = Field(
        None, examples=["Answer briefly."], description="The system prompt of every new chat."
    )
    system_prompt_format: TemplateFormat | None = Field(
        None,
        examples=["jinja2"],
        description="Language in which `system_prompt` is a template: `jinja2`, or `hf` for the "
        "same; not set is plain text.",
    )
    thinking: ThinkingLevel | None = Field(
        None,
        examples=["low"],
        description="How much models think in a new chat; not set is up to the model.",
    )
    profile: Text | None = Field(
        None, examples=["coding"], description="Profile of new chats; `none` for no profile."
    )
    ui: UiSettings = Field(UiSettings(), description="The screen: what it shows and how it moves.")
    keymap: dict[str, str] = Field(
        {}, examples=[{"chat.models": "f4"}], description="Keys by the id of the action: see F1."
    )
    options: GenerationSettings = Field(
        GenerationSettings(), description="Generation options of every chat."
    )
    defaults: DefaultModels = Field(
        DefaultModels(), description="Models of the commands beside the chat, such as `ollm embed`."
    )
    embedded: EmbeddedConfig = Field(
        EmbeddedConfig(), description="The engine that runs model files in a child process."
    )
    tools: ToolSettings = Field(
        ToolSettings(), description="Tools that models may call; none by default."
    )
    chat: ChatSettings = Field(
        ChatSettings(), description="Limits for one prompt, and whether chats are saved."
    )
    shell: ShellSettings = Field(ShellSettings(), description="Commands that you run with `!`.")
    hub: HubSettings = Field(
        HubSettings(), description="The hub that model files are searched on and downloaded from."
    )
    search: SearchSettings = Field(SearchSettings(), description="The search in all saved chats.")
    sound: SoundSettings = Field(
        SoundSettings(), description="Recording for /dictate, and playing for /speak."
    )
    downloads: DownloadSettings = Field(DownloadSettings(), description="The download queue.")
    mcp_servers: dict[str, McpServerSettings] = Field(
        {}, description="Servers of the Model Context Protocol whose tools are offered, by name."
    )
    profiles: dict[str, ProfileSettings] = Field(
        {}, description="Profiles: presets for chats, by name."
    )
    models: dict[str, ModelSettings] = Field(
        {}, description="Overrides for single models, by address or name."
    )
    aliases: dict[str, str] = Field(
        dict(BUILT_IN_ALIASES),
        examples=[{"ollama": "local"}],
        description="Aliases of providers: alias to provider.",
    )
    providers: dict[str, ProviderSettings] = Field(
        default_factory=_built_in, description="Providers, by name."
    )
