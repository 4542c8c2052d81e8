"""Several servers of one kind behind one name."""

from collections.abc import Callable
from dataclasses import replace

from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.base_url import shown_address
from ollm_tui.providers.pool.members import Member
from ollm_tui.providers.pool.provider import PoolProvider, pool_of
from ollm_tui.providers.spec import ProviderSpec


def create(spec: ProviderSpec, make: Callable[[ProviderSpec], ProviderAdapter]) -> PoolProvider:
    """Make a pool of the servers at `spec.base_urls`, each with an adapter from `make`.

    All of them get the same key and headers.
    """
    one = replace(spec, base_urls=(), waits_for_start=False)
    members = [
        Member(make(replace(one, base_url=url)), shown_address(url)) for url in spec.base_urls
    ]
    return pool_of(spec.name, spec.label or members[0].adapter.label, members)


__all__ = ["Member", "PoolProvider", "create", "pool_of"]
