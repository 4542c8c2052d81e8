"""Settings, pools, proxies and certificates that try to lead a planted key to a wrong server."""

from contextlib import suppress
from dataclasses import replace

from ollm_tui.config.flags import Flags
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers import create_provider
from ollm_tui.providers.discovery import Discovery, probe
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.runtime.engines import EngineProber
from ollm_tui.runtime.provider_set import provider_spec
from tests.hostile.planted import (
    FAKES,
    HEADER,
    KEY,
    ONE,
    PASSWORD,
    PROXY_PASSWORD,
    Act,
    Stage,
    answering,
    case,
)
from tests.providers.certificates import make_authority
from tests.providers.proxy import serve_proxy
from tests.support.http_server import Received, Reply, serve


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
