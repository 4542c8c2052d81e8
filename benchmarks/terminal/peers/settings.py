"""What several peers are told."""

from benchmarks.terminal.peers.place import PACKAGES


def own_command(name: str) -> str:
    """Give the installed command of a peer."""
    return str(next(package.program for package in PACKAGES if package.name == name))


def openai_environment(url: str) -> dict[str, str]:
    """Give what sends an OpenAI client to the server on loopback."""
    return {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_API_KEY": "sk-fake",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
    }
