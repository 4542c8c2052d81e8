"""Other programs of the kind, where they are installed (`make bench-peers`)."""

from collections.abc import Mapping

from benchmarks.terminal.programs import Maker


def installed_peers() -> Mapping[str, Maker]:
    """Give the peers that are there."""
    return {}
