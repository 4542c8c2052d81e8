"""Several addresses of one provider: how they are said, and who of them gets the key."""

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.reference import config_rows
from ollm_tui.runtime.provider_set import is_service, ports_of, provider_spec
from tests.config.conftest import Load

TEAM = '[providers.team]\nbase_urls = ["http://gpu1:8000", "http://gpu2:8000/"]\napi_key = "k-1"\n'
ENVIRONMENT_URLS = "OLLM_PROVIDERS__TEAM__BASE_URLS"


def key_of(loaded: LoadedConfig) -> str | None:
    return provider_spec("team", loaded.config.providers["team"]).api_key


def addresses(loaded: LoadedConfig, name: str = "team") -> tuple[str, ...]:
    return loaded.config.providers[name].addresses


def test_several_addresses_are_made_whole_and_get_the_key_that_stands_beside_them(
    load: Load,
) -> None:
    loaded = load(TEAM)
    assert addresses(loaded) == ("http://gpu1:8000", "http://gpu2:8000")
    assert key_of(loaded) == "k-1"
    assert loaded.all_problems == ()
    spec = provider_spec("team", loaded.config.providers["team"])
    assert spec.base_urls == ("http://gpu1:8000", "http://gpu2:8000")
    assert ports_of(loaded.config.providers)["team"] == 8000


def test_one_address_in_the_list_is_a_plain_server_and_a_repeated_one_counts_once(
    load: Load,
) -> None:
    loaded = load('[providers.team]\nbase_urls = ["http://gpu1", "http://GPU1:80/", "http://gpu1"]')
    assert addresses(loaded) == ("http://gpu1",)
    loaded = load('[providers.team]\nbase_urls = ["http://gpu1/"]')
    spec = provider_spec("team", loaded.config.providers["team"])
    assert (spec.base_url, spec.base_urls) == ("http://gpu1", ())


def test_a_preset_can_be_a_pool(load: Load) -> None:
    loaded = load('[providers.vllm]\nbase_urls = ["gpu1", "gpu2:9000"]')
    assert addresses(loaded, "vllm") == ("http://gpu1:8000", "http://gpu2:9000")
    assert loaded.config.providers["vllm"].base_url is None
    assert not loaded.config.providers["vllm"].preset
    assert loaded.problems == ()
    (problem,) = loaded.all_problems
    assert "without http://" in problem.message
    assert problem.hint == "It is taken as http://gpu1:8000; write which one is meant."


def test_one_and_several_addresses_in_one_place_belong_together(load: Load) -> None:
    loaded = load(f'{TEAM}base_url = "http://gpu0:8000"\n')
    assert addresses(loaded) == ("http://gpu0:8000", "http://gpu1:8000", "http://gpu2:8000")
    assert key_of(loaded) == "k-1"
    assert loaded.all_problems == ()
    higher = {ENVIRONMENT_URLS: '["http://gpu0:8000", "http://gpu1:8000"]'}
    loaded = load(f'{TEAM}base_url = "http://gpu0:8000"\n', higher)
    assert (addresses(loaded), key_of(loaded)) == (("http://gpu0:8000", "http://gpu1:8000"), "k-1")


@pytest.mark.parametrize(
    "addresses", ['["http://a", 1]', '"http://a"', '["ftp://a"]', '["http://a b"]']
)
def test_what_is_no_list_of_addresses_closes_the_provider(addresses: str, load: Load) -> None:
    loaded = load(f"[providers.team]\nbase_urls = {addresses}\n")
    assert len(loaded.all_problems) == 1
    assert loaded.config.providers["team"].problem is not None


@pytest.mark.parametrize(
    ("environ", "flags", "kept"),
    [
        ({ENVIRONMENT_URLS: '["http://gpu1:8000", "http://gpu2:8000"]'}, Flags(), True),
        ({ENVIRONMENT_URLS: '["http://gpu2:8000"]'}, Flags(), True),
        ({ENVIRONMENT_URLS: '["http://gpu2:8000", "http://other"]'}, Flags(), False),
        ({ENVIRONMENT_URLS: '["https://gpu2:8000"]'}, Flags(), False),
        ({"OLLM_PROVIDERS__TEAM__BASE_URL": "http://gpu2:8000/v1"}, Flags(), True),
        ({"OLLM_PROVIDERS__TEAM__BASE_URL": "http://gpu2:8001"}, Flags(), False),
        ({}, Flags(provider="team", host="http://gpu1:8000"), True),
        ({}, Flags(provider="team", host="http://gpu1.example:8000"), False),
    ],
)
def test_a_higher_layer_keeps_the_key_only_for_servers_that_were_listed_with_it(
    environ: dict[str, str], flags: Flags, *, kept: bool, load: Load
) -> None:
    loaded = load(TEAM, environ, flags)
    assert key_of(loaded) == ("k-1" if kept else None)
    assert bool(loaded.all_problems) != kept
    assert loaded.config.providers["team"].problem is None


def test_a_key_that_was_given_for_one_server_does_not_go_to_a_pool(load: Load) -> None:
    one = '[providers.team]\nbase_url = "http://gpu1:8000"\napi_key = "k-1"\n'
    pool = '["http://gpu1:8000", "http://gpu2:8000"]'
    assert key_of(load(one, {ENVIRONMENT_URLS: pool})) is None


def test_a_pool_with_a_service_in_it_is_a_service(load: Load) -> None:
    text = '[providers.mix]\nkind = "openai"\nbase_urls = ["https://api.openai.com/v1", "http://a"]'
    assert is_service(load(text).config.providers["mix"])
    text = '[providers.mix]\nkind = "openai"\nbase_urls = ["http://b", "http://a"]'
    assert not is_service(load(text).config.providers["mix"])


def test_names_and_passwords_of_addresses_are_not_shown(load: Load) -> None:
    loaded = load('[providers.team]\nbase_urls = ["http://me:pw-1@gpu1", "http://gpu2"]\n')
    (shown,) = (row.value for row in config_rows(loaded) if row.key.endswith("base_urls"))
    assert shown == '["http://«set»@gpu1", "http://gpu2"]'
    assert "pw-1" not in repr(loaded)
