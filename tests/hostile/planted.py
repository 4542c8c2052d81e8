"""Where the cases of `test_planted_key.py` are played: a right and a wrong server, and all uses."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.reference import config_rows
from ollm_tui.protocol import ports
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.runtime.provider_set import provider_spec
from tests.support.canaries import Ear
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, Received, Reply, Server

KEY = "planted-key-2718281828"
HEADER = "planted-header-3141592653"
PASSWORD = "planted-password-1414213562"
PROXY_PASSWORD = "planted-proxy-1732050807"
SECRETS = (KEY, HEADER, PASSWORD, PROXY_PASSWORD)
BACKENDS = ("lmstudio", "localai", "kobold", "llamacpp", "vllm")
FAKES: Mapping[str, Handler] = {
    "ollama": fake_ollama,
    "openai-compatible": FakeOpenAI(),
    "openai": FakeOpenAI(),
    "anthropic": FakeAnthropic(),
    **{backend: FakeOpenAI() for backend in BACKENDS},
}
"""What is asked, by kind, and by backend of the openai-compatible ones."""
CASES: "dict[str, Case]" = {}


@dataclass
class Stage:
    """The right server, a wrong one, and what was shown on the way."""

    kind: str
    right: Server
    wrong: Ear
    folder: Path
    setenv: Callable[[str, str], None]
    handler: Handler
    shown: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.right.port}"

    def spec(self, url: str | None = None, **more: object) -> ProviderSpec:
        backend = self.kind if self.kind in BACKENDS else None
        spec = ProviderSpec(
            name="planted",
            kind="openai-compatible" if backend else self.kind,
            base_url=url or self.right.url,
            api_key=KEY,
            headers={"X-Team": HEADER},
            backend=backend,
            first_byte_timeout_s=5,
            list_timeout_s=5,
        )
        return replace(spec, **more)  # type: ignore[arg-type]

    async def ask(self, spec: ProviderSpec | None = None, model: str = "tiny") -> None:
        """Do all that the provider can do, and keep what a person would see of it."""
        try:
            provider = create_provider(spec or self.spec())
        except AIError as error:
            self.see(error)
            return
        request = Request(model=model, messages=[Message("user", "hello")])
        async with provider.chat_stream(request) as events:
            self.shown += [repr(event) async for event in events]
        for use in USES:
            try:
                self.shown.append(repr(await use(provider, request)))
            except AIError as error:
                self.see(error)
        assert isinstance(provider, ports.SupportsDispose)
        await provider.dispose()

    def see(self, error: AIError) -> None:
        self.shown += [str(error), repr(error), str(error.details)]

    def load(
        self, text: str, environ: Mapping[str, str] | None = None, flags: Flags | None = None
    ) -> LoadedConfig:
        """Read settings from a file of these words."""
        paths = AppPaths(*(self.folder for _ in range(4)))
        paths.config_file.write_text(text)
        paths.config_file.chmod(0o600)
        loaded = load_config(paths, environ or {}, flags)
        self.shown += [repr(loaded), *(f"{row}" for row in config_rows(loaded))]
        self.shown += [str(problem) for problem in loaded.all_problems]
        return loaded

    async def ask_configured(
        self,
        text: str,
        environ: Mapping[str, str] | None = None,
        flags: Flags | None = None,
        name: str = "planted",
    ) -> None:
        """Ask a provider that is configured in these words."""
        settings = self.load(text, environ, flags).config.providers[name]
        await self.ask(provider_spec(name, settings))

    def table(self, url: str | None = None) -> str:
        return (
            f'[providers.planted]\nkind = "openai-compatible"\napi_key = "{KEY}"\n'
            f'base_url = "{url or self.right.url}"\nheaders = {{ "X-Team" = "{HEADER}" }}\n'
        )


Use = Callable[[ports.ProviderAdapter, Request], Awaitable[object]]


async def _pull(provider: ports.ProviderAdapter, request: Request) -> object:
    if not isinstance(provider, ports.SupportsPull):
        return None
    async with pulling(provider, request.model) as steps:
        return [step async for step in steps]


def _with(port: type, use: Callable[[Any, Request], Awaitable[object]]) -> Use:
    """Do something with a provider that can."""

    async def ask(provider: ports.ProviderAdapter, request: Request) -> object:
        return await use(provider, request) if isinstance(provider, port) else None

    return ask


USES: tuple[Use, ...] = (
    _with(ports.SupportsList, lambda p, _: p.list_models()),
    _with(ports.SupportsTokenCount, lambda p, r: p.count_tokens(r)),
    _with(ports.SupportsPromptText, lambda p, r: p.prompt_text(r)),
    _with(ports.SupportsTextTokenCount, lambda p, r: p.count_text_tokens(r.model, "x")),
    _with(ports.SupportsShow, lambda p, r: p.show_model(r.model)),
    _with(ports.SupportsRunning, lambda p, _: p.list_running()),
    _with(ports.SupportsVersion, lambda p, _: p.server_version()),
    _with(ports.SupportsLoad, lambda p, r: p.load_model(r.model)),
    _with(ports.SupportsUnload, lambda p, r: p.unload_model(r.model)),
    _with(ports.SupportsCopy, lambda p, r: p.copy_model(r.model, "copy")),
    _with(ports.SupportsDelete, lambda p, r: p.delete_model(r.model)),
    _pull,
)
"""All that can be asked of a provider beside an answer."""


Act = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """One way to lead a key astray."""

    act: Act
    kinds: tuple[str, ...] = tuple(FAKES)
    arrives: bool = True
    """Whether the right server has to have seen the key, so that there was one to lead astray."""


def case(
    name: str, *, kinds: tuple[str, ...] = tuple(FAKES), arrives: bool = True
) -> Callable[[Act], Act]:
    def enter(act: Act) -> Act:
        CASES[name] = Case(act, kinds, arrives)
        return act

    return enter


ONE = ("openai-compatible",)


def answering(status: int, headers: Mapping[str, str], body: bytes = b"{}") -> Handler:
    async def handler(_request: Received, reply: Reply) -> None:
        await reply.whole(body, status, headers=headers)

    return handler
