"""The loopback hub as a program of its own, to drive the terminal program against it by hand."""

import argparse
import sys

import anyio

from tests.support.fake_hub import FakeHub, serve_hub
from tests.support.hub_samples import TOKEN, sample_hub


def main() -> None:
    """Answer until killed; the first line of output is the address."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.fake_hub")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--size", type=int, default=20_000_000, help="bytes of a middling file")
    parser.add_argument("--speed", type=int, default=0, help="bytes per second of each file")
    parser.add_argument("--cut-after", type=int, help="bytes after which each file breaks off")
    asked = parser.parse_args()
    hub = sample_hub(asked.size)
    hub.cut_after = asked.cut_after
    if asked.speed:
        hub.pace = lambda count: count / asked.speed
    anyio.run(_serve, hub, asked.port)


async def _serve(hub: FakeHub, port: int) -> None:
    async with serve_hub(hub, port=port):
        sys.stdout.write(f"{hub.url}\n(files from {hub.files_url}; the token is {TOKEN})\n")
        sys.stdout.flush()
        await anyio.sleep_forever()
