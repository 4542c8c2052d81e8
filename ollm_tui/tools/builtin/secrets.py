"""Which names are hidden, and which hold keys that no model needs to see."""

from collections.abc import Sequence

_NAMES = frozenset(
    {
        ".env",
        ".envrc",
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".my.cnf",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
        ".password-store",
        ".vault-token",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "credentials.json",
    }
)
_SUFFIXES = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".gpg")
_EXAMPLES = (".example", ".sample", ".template", ".dist")


def is_hidden(name: str) -> bool:
    """Tell whether a name is left out of lists unless asked for."""
    return name.startswith(".")


def is_secret(names: Sequence[str]) -> bool:
    """Tell whether a path is one that keeps passwords or keys, by the names in it."""
    folded = [name.casefold() for name in names]
    if any(name in _NAMES for name in folded):
        return True
    last = folded[-1] if folded else ""
    is_environment = last.startswith(".env.") and not last.endswith(_EXAMPLES)
    # A repository's own settings may hold the password of its remote.
    return is_environment or last.endswith(_SUFFIXES) or folded[-2:] == [".git", "config"]
