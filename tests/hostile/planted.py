"""The cases of `test_planted_key.py`: each tries to lead a planted key to a wrong server."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.reference import config_rows
from ollm_tui.library.downloads.transfer import transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.protocol import ports
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.discovery import Discovery, probe
from ollm_tui.providers.fetcher import HttpFetcher
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import Transport
from ollm_tui.runtime.engines import EngineProber
from ollm_tui.runtime.provider_set import provider_spec
from tests.support.canaries import Ear
from tests.support.certificates import make_authority
from tests.support.fake_anthropic import fake_anthropic
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import fake_openai
from tests.support.http_server import Handler, Received, Reply, Server, serve
from tests.support.proxy import serve_proxy

KEY = "planted-key-2718281828"
HEADER = "planted-header-3141592653"
PASSWORD = "planted-password-1414213562"
PROXY_PASSWORD = "planted-proxy-1732050807"
SECRETS = (KEY, HEADER, PASSWORD, PROXY_PASSWORD)
BACKENDS = ("lmstudio", "localai", "kobold", "llamacpp", "vllm")
FAKES: Mapping[str, Handler] = {
    "ollama": fake_ollama,
    "openai-compatible": fake_openai(),
    "openai": fake_openai(),
    "anthropic": fake_anthropic(),
    **{backend: fake_openai() for backend in BACKENDS},
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


def _redirect(status: int, target: str) -> Act:
    async def act(stage: Stage) -> None:
        place = stage.wrong.place
        location = target.format(wrong=place, port=stage.wrong.port, right=stage.place)
        stage.handler = answering(status, {"location": location})
        await stage.ask()

    return act


for _status in (301, 302, 303, 307, 308):
    case(f"redirect {_status} to another port")(_redirect(_status, "http://{wrong}/steal"))


def _download(target: str) -> Act:
    """Fetch a file with a token, and with a name and a password, from who sends it elsewhere."""

    async def act(stage: Stage) -> None:
        location = target.format(wrong=stage.wrong.place, port=stage.wrong.port, right=stage.place)
        stage.handler = answering(302, {"location": location})
        sources = (
            FileSource(url=f"{stage.right.url}/m?code={HEADER}", token=KEY),
            FileSource(url=f"http://me:{PASSWORD}@{stage.place}/m"),
        )
        async with aclosing(HttpFetcher()) as fetcher:
            for number, source in enumerate(sources):
                place = stage.folder / f"{number}.gguf"
                stage.shown.append(repr(source))
                try:
                    await transfer(fetcher, source, place, report=lambda _step: None)
                except AIError as error:
                    stage.see(error)
        stage.shown += [path.read_text(errors="replace") for path in stage.folder.glob("*.json")]

    return act


for _name, _target in {
    "another name of this machine": "http://localhost:{port}/steal",
    "no scheme": "//{wrong}/steal",
    "a name before it": "http://{right}@{wrong}/steal",
    "a backslash": "http://{right}\\@{wrong}/steal",
    "a path of slashes": "/\\{wrong}/steal",
    "another scheme": "https://{wrong}/steal",
    "a fragment": "http://{wrong}#{right}",
}.items():
    case(f"redirect with {_name}")(_redirect(307, _target))
    case(f"download from a redirect with {_name}", kinds=ONE)(_download(_target))


@case("redirect to itself")
async def _to_itself(stage: Stage) -> None:
    stage.handler = answering(307, {"location": f"{stage.right.url}/again"})
    await stage.ask()
    assert all("/again" not in request.path for request in stage.right.received)


@case("redirect of a server with TLS to one without", kinds=ONE)
async def _downgrade(stage: Stage) -> None:
    authority = make_authority(stage.folder)
    elsewhere = answering(301, {"location": f"{stage.wrong.url}/steal"})
    async with serve(elsewhere, stage.right, tls=authority.server("127.0.0.1")) as server:
        await stage.ask(stage.spec(server.url, ca_file=authority.file))


@case("headers that name other places")
async def _links(stage: Stage) -> None:
    wrong = stage.wrong
    headers = {
        "link": f'<{wrong.url}/next>; rel="next"',
        "refresh": f"0; url={wrong.url}",
        "content-location": f"{wrong.url}/x",
        "alt-svc": f'h2="{wrong.place}"',
        "set-cookie": "a=b; Domain=127.0.0.1; Path=/",
    }
    stage.handler = answering(200, headers)
    await stage.ask()


@case("a listing with links to the next page and to models")
async def _pages(stage: Stage) -> None:
    wrong = f"{stage.wrong.url}/steal"
    page = {
        "data": [{"id": wrong, "url": wrong}],
        "models": [{"name": wrong, "model": wrong, "key": wrong}],
        "has_more": True,
        "last_id": wrong,
        "next": wrong,
        "next_page": wrong,
        "links": {"next": wrong},
    }

    async def handler(_request: Received, reply: Reply) -> None:
        await reply.json(page)

    stage.handler = handler
    await stage.ask(model=wrong)


@case("jobs whose names are addresses")
async def _jobs(stage: Stage) -> None:
    wrong = stage.wrong.place
    for name in (f"http://{wrong}/x", f"//{wrong}/x", f"../../@{wrong}/x", f"x?http://{wrong}#"):
        job = {
            "job_id": name,
            "uuid": name,
            "instance_id": name,
            "id": name,
            "status": "completed",
            "processed": True,
            "url": name,
            "data": [{"id": name}],
            "models": [{"key": name, "name": name, "loaded_instances": [{"id": name}]}],
        }

        async def handler(
            _request: Received, reply: Reply, content: Mapping[str, object] = job
        ) -> None:
            await reply.json(content)

        stage.handler = handler
        await stage.ask(model=name)


@case("an error with hints where to go")
async def _hints(stage: Stage) -> None:
    wrong = f"{stage.wrong.url}/signin?key={KEY}"
    error = {"error": {"message": f"Use {wrong}", "url": wrong}, "signin_url": wrong}

    async def handler(_request: Received, reply: Reply) -> None:
        await reply.json(error, 401)

    stage.handler = handler
    await stage.ask()


@case("a refusal that asks for a name and a password")
async def _challenge(stage: Stage) -> None:
    headers = {
        "www-authenticate": f'Basic realm="{stage.wrong.url}", Digest realm="a", nonce="b"',
        "location": f"{stage.wrong.url}/login",
    }
    stage.handler = answering(401, headers)
    spec = stage.spec(f"http://me:{PASSWORD}@{stage.place}")
    await stage.ask(spec)
    ends = ("/chat", "/chat/completions", "/messages")
    asked = [r for r in stage.right.received if r.path.endswith(ends) and b"hello" in r.body]
    assert len(asked) == 1, "nothing is asked again after a 401"


def _named(model: str) -> Act:
    async def act(stage: Stage) -> None:
        await stage.ask(model=model.format(wrong=stage.wrong.place, right=stage.place))

    return act


for _name, _model in {
    "an address": "http://{wrong}/steal",
    "slashes in front": "//{wrong}/steal",
    "a way up": "../../{wrong}/steal",
    "a name before it": "x@{wrong}/steal",
    "line breaks": "x\r\nHost: {wrong}\r\n\r\nGET http://{wrong}/ HTTP/1.1",
    "a query": "x?url=http://{wrong}#",
}.items():
    case(f"a model named with {_name}")(_named(_model))


@case("ids of jobs and models as paths", kinds=ONE)
async def _paths(stage: Stage) -> None:
    place = Endpoint("planted", "Planted", "", "Start it.")
    transport = Transport(stage.spec(), stage.right.url, place, {"authorization": f"Bearer {KEY}"})
    wrong = stage.wrong.place
    for path in (
        f"http://{wrong}/x",
        f"HTTP://{wrong}/x",
        f"https://{wrong}/x",
        f"//{wrong}/x",
        f"@{wrong}/x",
        f":1@{wrong}/x",
        f"\\\\{wrong}\\x",
        f"/jobs//{wrong}/x",
        f"/jobs/http://{wrong}/x",
        f"http://{stage.place}@{wrong}/x",
        f"http://{stage.place}\\@{wrong}/x",
        f"http://{stage.place}:80@{wrong}/x",
        f".{wrong}/x",
        f"?x=http://{wrong}",
        f"#@{wrong}/x",
    ):
        try:
            stage.shown.append(repr(await transport.json("GET", path)))
        except AIError as error:
            stage.see(error)
    await transport.aclose()
    await stage.ask()


def _elsewhere(host: str) -> Act:
    """Let the environment name another server than the file that holds the key."""

    async def act(stage: Stage) -> None:
        text = host.format(wrong=stage.wrong.place, port=stage.wrong.port, right=stage.place)
        environ = {"OLLM_PROVIDERS__PLANTED__BASE_URL": text}
        await stage.ask_configured(stage.table(), environ)
        await stage.ask_configured(stage.table(), None, Flags(provider="planted", host=text))

    return act


for _name, _host in {
    "another port": "http://{wrong}",
    "another name": "http://localhost:{port}",
    "the right one as its user": "http://{right}@{wrong}",
    "the right one as user and password": "http://me:{right}@{wrong}",
    "a backslash": "http://{right}\\@{wrong}",
    "the right one in the path": "http://{wrong}/{right}",
    "the right one in the query": "http://{wrong}?@{right}",
    "the right one in the fragment": "http://{wrong}#@{right}",
    "wide dots": "http://127\u30020\u30020\u30021:{port}",
    "a wide slash": "http://{wrong}\uff0f@{right}",
    "mapped into IPv6": "http://[::ffff:127.0.0.1]:{port}",
    "a short address": "http://127.1:{port}",
    "a trailing dot": "http://127.0.0.1.:{port}",
    "no scheme": "{wrong}",
}.items():
    case(f"a higher layer with {_name}", kinds=ONE, arrives=False)(_elsewhere(_host))


@case("a higher layer with TLS and one without", kinds=ONE, arrives=False)
async def _other_scheme(stage: Stage) -> None:
    secure = stage.table(f"https://{stage.wrong.place}")
    environ = {"OLLM_PROVIDERS__PLANTED__BASE_URL": stage.wrong.url}
    await stage.ask_configured(secure, environ)


@case("the variables of the engines", kinds=ONE, arrives=False)
async def _variables(stage: Stage) -> None:
    for name, host, kind in (
        ("local", "OLLAMA_HOST", "ollama"),
        ("vllm", "VLLM_HOST", "openai-compatible"),
        ("openai-compatible", "OPENAI_COMPATIBLE_HOST", "openai-compatible"),
        ("openai", "OPENAI_BASE_URL", "openai"),
        ("anthropic", "ANTHROPIC_BASE_URL", "anthropic"),
    ):
        text = (
            f'[providers.{name}]\nkind = "{kind}"\nbase_url = "{stage.right.url}"\n'
            f'api_key = "{KEY}"\nheaders = {{ "X-Team" = "{HEADER}" }}\n'
        )
        await stage.ask_configured(text, {host: stage.wrong.url}, name=name)


@case("a service's own variable beside another address", kinds=ONE, arrives=False)
async def _services(stage: Stage) -> None:
    for name in ("openai", "anthropic"):
        text = f'[providers.{name}]\nbase_url = "{stage.wrong.url}"\n'
        environ = {f"{name.upper()}_API_KEY": KEY}
        settings = stage.load(text, environ).config.providers[name]
        await stage.ask(replace(provider_spec(name, settings), name="planted"))


@case("a pool that a higher layer adds a member to", kinds=ONE, arrives=False)
async def _wider_pool(stage: Stage) -> None:
    listed = f'["{stage.right.url}", "{stage.wrong.url}"]'
    environ = {"OLLM_PROVIDERS__PLANTED__BASE_URLS": listed}
    for _ in range(2):
        await stage.ask_configured(stage.table(), environ)


@case("a member of a pool that redirects")
async def _pool_redirect(stage: Stage) -> None:
    stage.handler = answering(307, {"location": f"{stage.wrong.url}/steal"})
    async with serve(FAKES[stage.kind]) as other:
        spec = stage.spec(base_urls=(stage.right.url, other.url))
        for _ in range(2):
            await stage.ask(spec)


@case("a pool whose member is gone")
async def _pool_gone(stage: Stage) -> None:
    headers = {"location": f"{stage.wrong.url}/steal", "retry-after": "1"}
    async with serve(answering(503, headers)) as busy:
        await stage.ask(stage.spec(base_urls=(busy.url, stage.right.url)))


@case("a pool whose members have names and passwords of their own")
async def _pool_users(stage: Stage) -> None:
    async with serve(FAKES[stage.kind]) as other:
        mine = f"http://me:{PASSWORD}@{stage.place}"
        spec = stage.spec(base_urls=(mine, other.url), api_key=None)
        for _ in range(4):
            await stage.ask(replace(spec, headers={}))
        seen = "".join(f"{request.headers}{request.body!r}" for request in other.received)
    assert other.received
    assert "authorization" not in seen


@case("a proxy of the environment for this machine")
async def _proxy_for_loopback(stage: Stage) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        stage.setenv(name, stage.wrong.url)
    for host in ("127.0.0.1", "localhost", "127.1", "127.0.0.1.", "[::ffff:127.0.0.1]"):
        await stage.ask(stage.spec(f"http://{host}:{stage.right.port}"))


@case("a proxy in the settings for this machine")
async def _proxy_setting(stage: Stage) -> None:
    await stage.ask(stage.spec(proxy=f"http://me:{PROXY_PASSWORD}@{stage.wrong.place}"))


@case("a tunnel to a server with TLS", kinds=ONE)
async def _tunnel(stage: Stage) -> None:
    authority = make_authority(stage.folder)
    async with (
        serve(FAKES[stage.kind], stage.right, tls=authority.server("llm.example")) as server,
        serve_proxy({"llm.example:443": server.port}) as proxy,
    ):
        await stage.ask(stage.spec("https://llm.example", proxy=proxy.url, ca_file=authority.file))
        stage.wrong.received += "".join(proxy.heads).encode()


@case("a proxy that answers the tunnel with a redirect", kinds=ONE, arrives=False)
async def _tunnel_redirect(stage: Stage) -> None:
    refusal = f"HTTP/1.1 302 Found\r\nlocation: {stage.wrong.url}\r\ncontent-length: 0\r\n\r\n"
    async with serve_proxy({}, refusal=refusal.encode()) as proxy:
        await stage.ask(stage.spec("https://llm.example", proxy=proxy.url))
        stage.wrong.received += "".join(proxy.heads).encode()


@case("a server that asks for the proxy's password", kinds=ONE, arrives=False)
async def _pretended_proxy(stage: Stage) -> None:
    authority = make_authority(stage.folder)
    asks = answering(407, {"proxy-authenticate": 'Basic realm="proxy"'})
    async with (
        serve(asks, tls=authority.server("llm.example")) as server,
        serve_proxy({"llm.example:443": server.port, "llm.example:80": server.port}) as proxy,
    ):
        known = proxy.url.replace("://", f"://me:{PROXY_PASSWORD}@")
        spec = stage.spec("https://llm.example", proxy=known, ca_file=authority.file)
        await stage.ask(replace(spec, api_key=None, headers={}))
        for request in server.received:
            stage.wrong.received += f"{request.headers}".encode()
    assert server.received


@case("a certificate of another server", kinds=ONE, arrives=False)
async def _other_certificate(stage: Stage) -> None:
    authority = make_authority(stage.folder)
    async with serve(FAKES[stage.kind], tls=authority.server("llm.example")) as server:
        await stage.ask(stage.spec(server.url, ca_file=authority.file))
        await stage.ask(stage.spec(server.url))
    assert server.received == []


@case("probes for engines on usual ports", kinds=ONE, arrives=False)
async def _probes(stage: Stage) -> None:
    loaded = stage.load(stage.table(stage.wrong.url))
    scout = EngineProber(loaded, ProviderRegistry(), Discovery(), lambda _adapter: None)
    assert await scout.is_there("planted")
    await probe(f"http://me:{PASSWORD}@{stage.wrong.place}/v1?code={KEY}")
    assert stage.wrong.received


@case("a key in the query of an address")
async def _query(stage: Stage) -> None:
    stage.handler = answering(500, {}, f'{{"error": "bad code {KEY}"}}'.encode())
    await stage.ask(stage.spec(f"{stage.right.url}?code={KEY}", api_key=None, headers={}))
    await stage.ask(stage.spec("http://127.0.0.1:1", api_key=KEY))
    stage.load(stage.table(f"{stage.right.url}?code={KEY}"))
    assert all(f"code={KEY}" in request.path for request in stage.right.received)


@case("everything that a person sees of a key")
async def _shown(stage: Stage) -> None:
    async def echoes(request: Received, reply: Reply) -> None:
        content = " ".join(request.headers.values())
        await reply.json({"error": {"message": content, "type": content, "code": content}}, 401)

    stage.handler = echoes
    spec = stage.spec(f"http://me:{PASSWORD}@{stage.place}")
    stage.shown.append(repr(spec))
    await stage.ask(spec)
    await stage.ask(stage.spec(f"http://me:{PASSWORD}@{stage.place}", api_key=None))
    with suppress(AIError):
        create_provider(stage.spec(headers={"X-Team": f"{HEADER}\n"}))
