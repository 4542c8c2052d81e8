"""Which server an address means, decided so that a doubtful one is nobody's."""

import re
from urllib.parse import SplitResult

from ollm_tui.config.urls import STANDARD_PORTS, split_web_url

_DOUBTFUL = re.compile(r"[\s\\\x00-\x20\x7f-\x9f]")
Origin = tuple[str, str, int]


def origin_of(url: str) -> Origin | None:
    """Give scheme, host and port; None for what two readers might read in two ways."""
    parts = split_web(url)
    if parts is None or "@" in parts.netloc or not parts.netloc.isascii():
        return None
    port = parts.port if parts.port is not None else STANDARD_PORTS[parts.scheme]
    return parts.scheme, (parts.hostname or "").rstrip("."), port


def split_web(url: str) -> SplitResult | None:
    """Divide the address of something on a web server; None for anything else."""
    if _DOUBTFUL.search(url):
        return None
    return split_web_url(url)
