"""Replies of a server that try to lead a planted key elsewhere: redirects, links, names of jobs."""

from collections.abc import Mapping
from contextlib import aclosing

from ollm_tui.library.downloads.transfer import transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.fetcher import HttpFetcher
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.transport import Transport
from tests.hostile.planted import HEADER, KEY, ONE, PASSWORD, Act, Stage, answering, case
from tests.providers.certificates import make_authority
from tests.support.http_server import Received, Reply, serve


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
