"""The tables of the servers that the app talks to: `[providers.NAME]`, `[models]` and `[hub]`."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, PrivateAttr, SecretStr, ValidationInfo, field_validator

from ollm_tui.config.backends import ADAPTERS, HUGGING_FACE, BackendName
from ollm_tui.config.engine_settings import ModelEngineSettings
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.values import (
    FilePath,
    Priority,
    ProviderKind,
    Seconds,
    SettingsSection,
    Text,
    TokenCount,
    header_names,
    unreserved,
)

_KINDS = [kind for kind, adapter in ADAPTERS.items() if adapter]


class ProviderSettings(SettingsSection):
    """One place that has models: `[providers.NAME]`."""

    kind: ProviderKind = Field(
        "openai-compatible",
        description=f"Which protocol it speaks: {', '.join(_KINDS)}, or a plugin's.",
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
        None, examples=["vllm"], description="The server software (backend)."
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
        """Why this provider cannot be used; reported when it is used."""
        return self._problem

    @property
    def preset(self) -> bool:
        """Whether it is not configured, so that it is offered only if it answers."""
        return self._preset

    def marked(self, *, problem: ConfigProblem | None, preset: bool) -> "ProviderSettings":
        """Give a copy with these marks; the file cannot set them."""
        copy = self.model_copy()
        copy._problem, copy._preset = problem, preset
        return copy


class ModelSettings(ModelEngineSettings):
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


class HubSettings(SettingsSection):
    """A hub of model files, and the token for it."""

    endpoint: str = Field(
        HUGGING_FACE,
        repr=False,  # may hold a name and a password
        description="Address of the hub: Hugging Face's own, or a mirror of it.",
    )
    token: SecretStr | None = Field(
        None,
        examples=["${WORK_HF_TOKEN}"],
        description='Token for gated and private models, best as "${NAME}"; sent to the hub alone.',
    )
    token_env: str | None = Field(
        None,
        examples=["WORK_HF_TOKEN"],
        description="Name of the environment variable that holds the token.",
    )
    _problem: ConfigProblem | None = PrivateAttr(None)

    @property
    def problem(self) -> ConfigProblem | None:
        """Why the hub cannot be used; reported when it is used."""
        return self._problem

    def marked(self, problem: ConfigProblem | None) -> "HubSettings":
        """Give a copy with this mark; the file cannot set it."""
        copy = self.model_copy()
        copy._problem = problem
        return copy
