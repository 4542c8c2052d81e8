"""Every setting: its type, its default, and what it means in one sentence.

The example file, `ollm config schema` and the reference page are made from these types.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import (
    Field,
    JsonValue,
    PrivateAttr,
    SecretStr,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ollm_tui.config.backends import BUILT_IN_ALIASES, BUILT_IN_PROVIDERS, BackendName
from ollm_tui.config.early import DEFAULT_THEME
from ollm_tui.config.hub_settings import HubSettings
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.section import SettingsSection
from ollm_tui.config.values import (
    LARGEST_WINDOW,
    FilePath,
    HowLong,
    Idle,
    NoSwitch,
    Priority,
    ProviderKind,
    Seconds,
    Seed,
    Share,
    Strength,
    Text,
    TokenCount,
    Whole,
    header_names,
    unreserved,
)
from ollm_tui.protocol.request import GenerationOptions

ENVIRONMENT_PREFIX = "OLLM_"
NESTING = "__"


class UiSettings(SettingsSection):
    """How the screen looks and behaves."""

    show_thinking: bool = Field(
        True,
        description="Show a model's thinking while it streams; it folds when the answer starts.",
    )
    mouse: bool = Field(True, description="Enable the mouse: clicks, wheel and selection.")
    animations: bool = Field(True, description="Animate the screen; turn off for slow terminals.")


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
    seed: Seed | None = Field(
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
        description='How long Ollama or the built-in engine keeps a model: seconds, or "5m".',
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
        said = self.model_dump(exclude_none=True)
        stop = said.pop("stop", None)
        return GenerationOptions(**said, stop=tuple(stop) if stop else None)


class EmbeddedConfig(SettingsSection):
    """The engine that runs model files in this app's own child process."""

    idle_unload_s: Idle = Field(
        300,
        description="Idle seconds before a model is unloaded; 0 keeps it loaded.",
    )
    threads: Annotated[int, Field(ge=1, le=1024), NoSwitch] | None = Field(
        None, examples=[4], description="Processor threads; not set is half of the cores."
    )
    context: Annotated[int, Field(ge=256, le=LARGEST_WINDOW), NoSwitch] = Field(
        4096, description="Context window of a loaded model, in tokens, at most its own."
    )
    model_folders: list[FilePath] = Field(
        [],
        examples=[["~/models"]],
        description="Folders searched for GGUF files beside the app's own models folder.",
    )
    other_folders: list[Literal["lmstudio", "huggingface", "llamacpp"]] = Field(
        [],
        examples=[["lmstudio", "huggingface"]],
        description="Other programs whose folders of model files are searched too, only reading.",
    )


class ToolSettings(SettingsSection):
    """What models may do beside talking; nothing by default."""

    enabled: list[Text] = Field(
        [],
        description="Tools that every new chat offers, by name: see /tools.",
        examples=[["read_file", "search_files"]],
    )
    root: FilePath | None = Field(
        None,
        description="The only folder that file tools see; not set is where the app starts.",
        examples=["~/notes"],
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


class DownloadSettings(SettingsSection):
    """How models are fetched."""

    at_once: Whole = Field(
        2, ge=1, le=16, description="Number of downloads that run at the same time."
    )


class ModelSettings(SettingsSection):
    """What you know better about a model: `[models."provider://name"]`."""

    context: TokenCount | None = Field(
        None,
        description="Its context window in tokens, overriding what the engine reports.",
        examples=[32_768],
    )
    tool_mode: Literal["native", "react"] | None = Field(
        None,
        description="How it is given tools: natively, or described in text.",
        examples=["react"],
    )
    vision: bool | None = Field(
        None,
        description="Whether it sees pictures, overriding what the engine reports.",
        examples=[True],
    )
    tools: bool | None = Field(
        None,
        description="Whether it calls tools itself, overriding what the engine reports.",
        examples=[False],
    )
    thinking: bool | None = Field(
        None,
        description="Whether it thinks before it answers, overriding what the engine reports.",
        examples=[True],
    )


class ProviderSettings(SettingsSection):
    """One place that has models: `[providers.NAME]`."""

    kind: ProviderKind = Field(
        "openai-compatible",
        description="Which protocol it speaks: ollama, openai-compatible, openai, anthropic, or "
        "a plugin's.",
    )
    label: Text | None = Field(
        None, examples=["Work"], description="Name shown instead of the key."
    )
    base_url: str | None = Field(
        None,
        examples=["https://llm.example.com/v1"],
        repr=False,  # may hold a name and a password
        description="Its address; without a version in the path, /v1 is added where needed.",
    )
    base_urls: Annotated[list[str], Field(max_length=64)] = Field(
        [],
        examples=[["http://gpu1:8000", "http://gpu2:8000"]],
        repr=False,  # as above
        description="Addresses of several alike servers, with base_url or without: a healthy one "
        "is asked, and each gets the key.",
    )
    api_key: SecretStr | None = Field(
        None,
        examples=["${WORK_KEY}"],
        description='Its API key, preferably as "${NAME}"; api_key_env is better still.',
    )
    api_key_env: str | None = Field(
        None,
        examples=["WORK_KEY"],
        description="Name of the environment variable that holds the key.",
    )
    headers: dict[str, SecretStr] = Field(
        {}, examples=[{"X-Team": "research"}], description="Extra headers of every request."
    )
    ca_file: FilePath | None = Field(
        None,
        examples=["ca.pem"],
        description="PEM file with the certificates to trust instead of the usual ones.",
    )
    proxy: str | None = Field(
        None,
        examples=["http://proxy.example.com:3128"],
        repr=False,  # as above
        description='Proxy in place of HTTP_PROXY and HTTPS_PROXY, or "none"; never for this '
        "machine.",
    )
    backend: BackendName | None = Field(
        None,
        examples=["vllm"],
        description="The server software (backend).",
    )
    extra_body: dict[str, JsonValue] = Field(
        {},
        examples=[{"min_tokens": 16}],
        description="Further keys of every chat request to it; what a chat sets counts more.",
    )
    connect_timeout_s: Seconds = Field(5, description="Seconds to wait for a connection.")
    first_byte_timeout_s: Seconds = Field(
        300,
        description="Seconds to wait for an answer to start, including the loading of the model.",
    )
    idle_timeout_s: Seconds = Field(60, description="Seconds of silence that end a started answer.")
    enabled: bool = Field(True, description="Whether it is used.")
    priority: Priority = Field(
        0, description="Providers with a higher priority are searched first for a bare model name."
    )

    @field_validator("extra_body")
    @classmethod
    def _for_this_kind(
        cls, body: dict[str, JsonValue], info: ValidationInfo
    ) -> dict[str, JsonValue]:
        if body and info.data.get("kind") in ("ollama", "embedded"):
            raise ValueError("is for servers of other kinds; Ollama's options stand in [options]")
        return unreserved(body)

    @field_validator("headers", mode="before")
    @classmethod
    def _header_names(cls, headers: object) -> object:
        return header_names(headers) if isinstance(headers, dict) else headers

    _problem: ConfigProblem | None = PrivateAttr(None)
    _preset: bool = PrivateAttr(False)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it is: one address, those of a pool, or none."""
        one = [self.base_url] if self.base_url else []
        return tuple(dict.fromkeys([*one, *self.base_urls]))

    @property
    def problem(self) -> ConfigProblem | None:
        """Why this provider cannot be used; to be said where somebody uses it."""
        return self._problem

    @property
    def preset(self) -> bool:
        """Whether nobody configured it, so that it is offered only when it answers."""
        return self._preset

    def marked(self, *, problem: ConfigProblem | None, preset: bool) -> "ProviderSettings":
        """Give a copy with these marks; the file cannot set them."""
        copy = self.model_copy()
        copy._problem, copy._preset = problem, preset
        return copy


def _built_in() -> dict[str, ProviderSettings]:
    return {
        name: ProviderSettings.model_validate(dict(values)).marked(problem=None, preset=True)
        for name, values in BUILT_IN_PROVIDERS.items()
    }


class AppConfig(BaseSettings):
    """All settings, resolved."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter=NESTING,
        env_ignore_empty=True,
        case_sensitive=False,
    )

    theme: str = Field(DEFAULT_THEME, min_length=1, description="Name of a colour theme.")
    model: Text | None = Field(
        None,
        examples=["local://qwen3:8b"],
        description="Model to start with: a name, or provider://name; not set is the last used.",
    )
    provider: str | None = Field(
        None,
        examples=["local"],
        description="Default provider; --host and --api-key apply to it.",
    )
    system_prompt: str | None = Field(
        None, examples=["Answer briefly."], description="The system prompt of every new chat."
    )
    ui: UiSettings = Field(UiSettings(), description="The screen: what it shows and how it moves.")
    keymap: dict[str, str] = Field(
        {}, examples=[{"chat.models": "f4"}], description="Keys by the id of the action: see F1."
    )
    options: GenerationSettings = Field(
        GenerationSettings(), description="Generation options of every chat."
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
    hub: HubSettings = Field(
        HubSettings(), description="The hub that model files are searched on and downloaded from."
    )
    downloads: DownloadSettings = Field(DownloadSettings(), description="The download queue.")
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

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only what the loader hands over: it reads each source itself, to know origins."""
        return (init_settings,)
