"""The `Link` header, by which lists go on."""

import re

_LINK = re.compile(r"<([^<>]{1,4096})>([^<>]*)")
_RELATION = re.compile(r';\s*rel\s*=\s*"?([^";,]*)', re.IGNORECASE)


def next_page(header: str) -> str | None:
    """Give the address of the next page as the server wrote it; None on the last one."""
    for address, parameters in _LINK.findall(header):
        relation = _RELATION.search(parameters)
        if relation is not None and "next" in relation[1].lower().split():
            return str(address)
    return None
