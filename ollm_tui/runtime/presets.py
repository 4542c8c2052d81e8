"""What is known of the providers by their settings alone: services, keys and ports."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from ollm_tui.config.backends import SERVICES
from ollm_tui.config.provider_settings import ProviderSettings
from ollm_tui.config.urls import url_origin


def is_service(settings: ProviderSettings) -> bool:
    """Whether this is a service on the internet, not a server that speaks like one."""
    address = SERVICES.get(settings.kind)
    if address is None:
        return False
    origins = {url_origin(url) for url in settings.addresses or (address,)}
    return url_origin(address) in origins


def has_key(settings: ProviderSettings) -> bool:
    """Whether a service can know who asks: by a key, or by headers of one's own."""
    return settings.api_key is not None or bool(settings.headers)


def services_of(providers: Mapping[str, ProviderSettings]) -> frozenset[str]:
    """Give the names of the services on the internet: they are asked when a person wants it."""
    return frozenset(name for name, settings in providers.items() if is_service(settings))


def usable_services(providers: Mapping[str, ProviderSettings]) -> frozenset[str]:
    """Give the names of the services that there is a key for."""
    return frozenset(name for name in services_of(providers) if has_key(providers[name]))


def ports_of(providers: Mapping[str, ProviderSettings]) -> dict[str, int]:
    """Give the port that each provider with an address is looked for at."""
    found = {}
    for name, settings in providers.items():
        if settings.addresses and (port := urlsplit(settings.addresses[0]).port):
            found[name] = port
    return found
