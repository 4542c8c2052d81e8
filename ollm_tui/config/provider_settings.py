"""The tables of the servers that the app talks to: `[providers.NAME]`, `[models]` and `[hub]`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from ollm_tui.config.backends import ADAPTERS, HUGGING_FACE, BackendName
from ollm_tui.config.engine_settings import ModelEngineSettings
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.values import (
    FilePath,
    Headers,
    Priority,
    ProviderKind,
    Seconds,
    Text,
    TokenCount,
    check_unreserved,
)
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.sections.marks import CheckWithContext, Length
from ollm_tui.sections.section import Secret, Section, internal, setting

_KINDS = [kind for kind, adapter in ADAPTERS.items() if adapter]


def _for_this_kind(body: Mapping[str, object], above: Mapping[str, object], _: object) -> None:
    if body and above.get("kind") in ("ollama", "embedded"):
        raise ValueError("is for servers of other kinds; Ollama's options stand in [options]")
    check_unreserved(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings(Section):
    """One place that has models: `[providers.NAME]`."""

    kind: ProviderKind = setting(
        "openai-compatible",
        description=f"Which protocol it speaks: {', '.join(_KINDS)}, or a plugin's.",
    )
    label: Text | None = setting(
        None, examples=["Work"], description="Name shown instead of the NAME of this table."
    )
    base_url: str | None = setting(
        None,
        examples=["https://llm.example.com/v1"],
        is_shown=False,  # may hold a name and a password
        description="Its address; if the path has no version, /v1 is added as needed.",
    )
    base_urls: Annotated[list[str], Length(most=64)] = setting(
        [],
        examples=[["http://gpu1:8000", "http://gpu2:8000"]],
        is_shown=False,  # as above
        description="Addresses of several servers of the same kind, with or without base_url: "
        "requests go to a healthy one, and each gets the key.",
    )
    api_key: Secret | None = setting(
        None,
        examples=["${WORK_KEY}"],
        description='Its API key, preferably as "${NAME}"; api_key_env is better still.',
    )
    api_key_env: str | None = setting(
        None,
        examples=["WORK_KEY"],
        description="Name of the environment variable that holds the key.",
    )
    headers: Headers = setting(
        {}, examples=[{"X-Team": "research"}], description="Extra headers of every request."
    )
    ca_file: FilePath | None = setting(
        None,
        examples=["ca.pem"],
        description="PEM file with the certificates to trust instead of the usual ones.",
    )
    proxy: str | None = setting(
        None,
        examples=["http://proxy.example.com:3128"],
        is_shown=False,  # as above
        description='Proxy instead of HTTP_PROXY and HTTPS_PROXY, or "none"; never used for this '
        "machine.",
    )
    backend: BackendName | None = setting(
        None, examples=["vllm"], description="The server software (backend)."
    )
    extra_body: Annotated[dict[str, JsonValue], CheckWithContext(_for_this_kind)] = setting(
        {},
        examples=[{"min_tokens": 16}],
        description="Additional keys of every chat request to it; the settings of a chat take "
        "precedence.",
    )
    connect_timeout_s: Seconds = setting(5, description="Seconds to wait for a connection.")
    first_byte_timeout_s: Seconds = setting(
        300,
        description="Seconds to wait for an answer to start, including the loading of the model.",
    )
    idle_timeout_s: Seconds = setting(
        60, description="Seconds without data after which a started answer ends."
    )
    enabled: bool = setting(True, description="Whether the provider is used.")
    priority: Priority = setting(
        0, description="Providers with a higher priority are searched first for a bare model name."
    )

    problem: ConfigProblem | None = internal(None)
    """Why this provider cannot be used; reported when it is used."""
    preset: bool = internal(False)
    """Whether it is not configured, so that it is offered only if it answers."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it is: one address, those of a pool, or none."""
        one = [self.base_url] if self.base_url else []
        return tuple(dict.fromkeys([*one, *self.base_urls]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings(ModelEngineSettings):
    """What you know better about a model: `[models."provider://name"]`."""

    context: TokenCount | None = setting(
        None,
        description="Its context window in tokens, overriding what the engine reports.",
        examples=[32_768],
    )
    tool_mode: Literal["native", "react"] | None = setting(
        None,
        description="How tools are offered to it: natively, or described in text.",
        examples=["react"],
    )
    vision: bool | None = setting(
        None,
        description="Whether it accepts pictures, overriding what the engine reports.",
        examples=[True],
    )
    tools: bool | None = setting(
        None,
        description="Whether it supports native tool calls, overriding what the engine reports.",
        examples=[False],
    )
    thinking: bool | None = setting(
        None,
        description="Whether it thinks before it answers, overriding what the engine reports.",
        examples=[True],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings(Section):
    """A hub of model files, and the token for it."""

    endpoint: str = setting(
        HUGGING_FACE,
        is_shown=False,  # may hold a name and a password
        description="Address of the hub: Hugging Face, or a mirror of it.",
    )
    token: Secret | None = setting(
        None,
        examples=["${WORK_HF_TOKEN}"],
        description='Token for gated and private models, best as "${NAME}"; sent only to the hub.',
    )
    token_env: str | None = setting(
        None,
        examples=["WORK_HF_TOKEN"],
        description="Name of the environment variable that holds the token.",
    )
    problem: ConfigProblem | None = internal(None)
    """Why the hub cannot be used; reported when it is used."""
