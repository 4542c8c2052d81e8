"""`python -m tests.web.fetch_alone URL`: what one page costs a process, printed as JSON.

A harmless page is read before, so that only the memory of the page itself is counted.
"""

import json
import sys
import time
from pathlib import Path
from urllib.parse import urljoin

import anyio

from ollm_tui.tools.web.fetch import WebFetch
from tests.tools.web_site import HERE, Caller, loader
from tests.tools.writing.acting import Person


def peak_bytes() -> int:
    """Return the most memory this process has had since `forget_peak`."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


async def main(url: str) -> None:
    caller = Caller(Person(), WebFetch(HERE, loader()))
    await caller.call("web_fetch", url=urljoin(url, "/harmless"))
    forget_peak()
    before, began = peak_bytes(), time.monotonic()
    result = await caller.call("web_fetch", url=url, max_chars=250_000)
    figures = {
        "seconds": time.monotonic() - began,
        "grown": peak_bytes() - before,
        "outcome": result.outcome,
        "content": result.content,
        "display": result.display or "",
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
